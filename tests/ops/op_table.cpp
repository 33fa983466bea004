// Checks the properties that every operation must have, for every case of the table.
#include "op_table.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "every_isa.h"
#include "weft/context.h"

namespace weft::test {
namespace {

std::vector<bool> differentiable_inputs(const OpCase& c) {
  std::vector<bool> all;
  for (const In& in : c.inputs) all.push_back(in.differentiable);
  return all;
}

std::vector<Tensor> single_inputs(const OpCase& c) {
  std::vector<Tensor> inputs;
  for (const Tensor& x : make_inputs(c)) inputs.push_back(to_single(x));
  return inputs;
}

void check_close(const Tensor& got, const Tensor& want, double tolerance) {
  const double largest = max_abs(want), bound = tolerance * (std::isfinite(largest) ? largest : 0) + tolerance * 0.05;
  CHECK(max_difference(got, want) <= bound);
}

void check_close(const Differentiated& got, const Differentiated& want, double tolerance) {
  check_close(got.y, want.y, tolerance);
  for (std::size_t i = 0; i < want.gradients.size(); ++i)
    if (want.gradients[i].defined()) check_close(got.gradients[i], want.gradients[i], tolerance);
}

bool same_results(const Differentiated& a, const Differentiated& b) {
  bool same = same_bits(a.y, b.y);
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    if (a.gradients[i].defined()) same = same && same_bits(a.gradients[i], b.gradients[i]);
  return same;
}

// Stores the elements of x with the axes in reverse order.
Tensor transposed_layout(const Tensor& x) {
  const Shape reversed(x.shape().rbegin(), x.shape().rend());
  Tensor y = Tensor::empty(reversed, x.dtype());
  const Strides dense = contiguous_strides(reversed);
  Tensor view = y.view(x.shape(), Strides(dense.rbegin(), dense.rend()), 0);
  raw::copy(x, view);
  return view;
}

// Stores the elements of x inside a larger tensor that is NaN everywhere else.
Tensor offset_layout(const Tensor& x) {
  Shape larger = x.shape();
  for (std::int64_t& n : larger) n += 3;
  Tensor y =
      x.dtype() == DType::i64 ? Tensor::full(larger, -999, x.dtype()) : Tensor::full(larger, std::nan(""), x.dtype());
  std::int64_t offset = 0;
  for (std::int64_t stride : y.strides()) offset += stride;
  Tensor view = y.view(x.shape(), y.strides(), offset);
  raw::copy(x, view);
  return view;
}

// Repeats the first slice of x along `axis` with stride 0.
Tensor repeated_layout(const Tensor& x, std::size_t axis) {
  Strides strides = x.strides();
  strides[axis] = 0;
  return x.view(x.shape(), strides, x.offset());
}

}  // namespace

TEST_CASE("op table: values") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    const auto inputs = make_inputs(c);
    const Tensor y = c.run(inputs);
    if (c.oracle) check_close(y, c.oracle(inputs), 1e-11);
    const Tensor single = c.run(single_inputs(c));
    CHECK(real_of(single.dtype()) != DType::f64);
    check_close(single, y, c.f32_tolerance);
    for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(same_bits(inputs[i], make_inputs(c)[i]));
  }
}

TEST_CASE("op table: gradients by central differences in f64") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    CHECK(gradient_error(c.run, make_inputs(c), differentiable_inputs(c)) <= 1e-6);
  }
}

TEST_CASE("a gradient scaled by 1.001 fails the gradient check") {
  const Function f = [](const std::vector<Tensor>& in) { return mul(in[0], in[1]); };
  const std::vector<Tensor> in = {random_tensor({{3, 4}}, 1), random_tensor({{3, 4}}, 2)};
  CHECK(gradient_error(f, in, {true, true}) <= 1e-6);
  CHECK(gradient_error(f, in, {true, true}, 1.001) > 1e-6);
}

TEST_CASE("op table: every instruction set") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    const auto needs = differentiable_inputs(c);
    const Differentiated want = differentiate(c.run, make_inputs(c), needs);
    for (Isa isa : available_isas()) {
      CAPTURE(std::string(isa_name(isa)));
      Context context;
      context.set_isa(isa);
      ContextScope scope(context);
      check_close(differentiate(c.run, make_inputs(c), needs), want, 1e-11);
      check_close(differentiate(c.run, single_inputs(c), needs), want, c.f32_tolerance);
    }
  }
}

TEST_CASE("op table: the same bits on all instruction sets with fused multiply-adds") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    const auto needs = differentiable_inputs(c);
    for (const auto& inputs : {make_inputs(c), single_inputs(c)}) {
      std::optional<Differentiated> first;
      for_every_isa([&] {
        if (!has_fused_multiply_add(Context::current().isa())) return;
        const Differentiated got = differentiate(c.run, inputs, needs);
        if (first) CHECK(same_results(got, *first));
        else first = got;
      });
    }
  }
}

TEST_CASE("op table: every layout") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    const auto needs = differentiable_inputs(c);
    for (const auto& inputs : {make_inputs(c), single_inputs(c)}) {
      const Differentiated want = differentiate(c.run, inputs, needs);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(i);
        auto laid_out = inputs;
        laid_out[i] = transposed_layout(inputs[i]);
        check_close(differentiate(c.run, laid_out, needs), want, inputs[i].dtype() == DType::f64 ? 1e-12 : 1e-6);
        laid_out[i] = offset_layout(inputs[i]);
        check_close(differentiate(c.run, laid_out, needs), want, inputs[i].dtype() == DType::f64 ? 1e-12 : 1e-6);
        for (std::size_t axis = 0; axis < inputs[i].shape().size(); ++axis) {
          laid_out[i] = repeated_layout(inputs[i], axis);
          auto dense = inputs;
          dense[i] = transposed_layout(laid_out[i]);
          dense[i] = raw::contiguous(dense[i]);
          check_close(differentiate(c.run, laid_out, needs), differentiate(c.run, dense, needs),
                      inputs[i].dtype() == DType::f64 ? 1e-12 : 1e-6);
        }
      }
    }
  }
}

TEST_CASE("op table: the same bits for any number of threads") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    const auto needs = differentiable_inputs(c);
    const auto run = [&](int threads) {
      Context context;
      context.set_threads(threads);
      ContextScope scope(context);
      return differentiate(c.run, single_inputs(c), needs);
    };
    const Differentiated one = run(1);
    for (int threads : {2, 3, 8}) CHECK(same_results(run(threads), one));
  }
}

}  // namespace weft::test
