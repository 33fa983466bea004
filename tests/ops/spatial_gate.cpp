// Tests spatial_gate against its formula.
#include <doctest/doctest.h>

#include "op_table.h"
#include "weft/context.h"
#include "weft/gmlp.h"

namespace weft::test {
namespace {

Tensor formula(const std::vector<Tensor>& in, bool causal) {
  const std::int64_t n = in[1].size(0);
  const Tensor w = causal ? mul(in[2], reshape(causal_mask(n, in[2].dtype()), {n, n})) : in[2];
  return mul(in[0], add(einsum("ij,jbd->ibd", {w, in[1]}), reshape(in[3], {n, 1, 1})));
}

OpCase gate_case(std::int64_t n, std::int64_t b, std::int64_t d, bool causal) {
  const std::string name = std::string("spatial_gate ") + (causal ? "causal " : "") + to_string(Shape{n, b, d});
  return {name,
          {{{n, b, d}}, {{n, b, d}}, {{n, n}}, {{n}}},
          [=](const std::vector<Tensor>& in) { return spatial_gate(in[0], in[1], in[2], in[3], causal); },
          [=](const std::vector<Tensor>& in) { return formula(in, causal); }};
}

const OpCases spatial_gate_cases{
    gate_case(0, 2, 3, true), gate_case(3, 0, 2, true),  gate_case(1, 1, 1, true),  gate_case(1, 1, 1, false),
    gate_case(5, 2, 3, true), gate_case(5, 2, 3, false), gate_case(13, 1, 7, true), gate_case(29, 2, 5, true),
};

using Gate = std::function<Tensor(const std::vector<Tensor>&, bool causal)>;

Tensor fused(const std::vector<Tensor>& in, bool causal) { return spatial_gate(in[0], in[1], in[2], in[3], causal); }

// gate, x, weight, bias
std::vector<Tensor> long_inputs(std::int64_t n) {
  return {random_tensor({{n, 2, 9}}, 1), random_tensor({{n, 2, 9}}, 2), random_tensor({{n, n}}, 3),
          random_tensor({{n}}, 4)};
}

// Returns y, and the gradients for a random cotangent.
std::vector<Tensor> values_and_gradients(const Gate& gate, const std::vector<Tensor>& in, bool causal) {
  Tape tape;
  std::vector<Tensor> watched;
  for (const Tensor& x : in) watched.push_back(tape.watch(x));
  const Tensor y = gate(watched, causal), dy = raw::convert(random_tensor({y.shape()}, 5), y.dtype());
  Gradients gradients;
  tape.backward(y, dy, gradients);
  std::vector<Tensor> results = {y.detach()};
  for (const Tensor& x : watched) results.push_back(gradients.of(x));
  return results;
}

// Uses sizes larger than a tile, a task and a block of k, for which central differences would take too long.
TEST_CASE("spatial_gate: long sequences, values and gradients, on every instruction set") {
  for (const std::int64_t n : {97, 300, 1100})
    for (const bool causal : {false, true}) {
      const std::vector<Tensor> in = long_inputs(n);
      std::vector<Tensor> single;
      for (const Tensor& x : in) single.push_back(to_single(x));
      const auto want = values_and_gradients(formula, in, causal);
      for (Isa isa : available_isas()) {
        CAPTURE(n);
        CAPTURE(isa_name(isa));
        Context context;
        ContextScope scope(context);
        context.set_isa(isa);
        const auto f64 = values_and_gradients(fused, in, causal), f32 = values_and_gradients(fused, single, causal);
        for (std::size_t i = 0; i < want.size(); ++i) {
          CHECK(max_difference(f64[i], want[i]) <= 1e-12 * max_abs(want[i]));
          CHECK(max_difference(f32[i], want[i]) <= 2e-5 * max_abs(want[i]));
        }
      }
    }
}

TEST_CASE("spatial_gate: the same bits for any number of threads") {
  const std::vector<Tensor> in = long_inputs(300);
  for (const bool causal : {false, true}) {
    std::vector<std::vector<Tensor>> results;
    for (int threads : {1, 2, 5}) {
      Context context;
      ContextScope scope(context);
      context.set_threads(threads);
      results.push_back(values_and_gradients(fused, in, causal));
      for (std::size_t i = 0; i < results[0].size(); ++i) CHECK(same_bits(results.back()[i], results[0][i]));
    }
  }
}

TEST_CASE("spatial_gate, causal: later tokens don't change a bit, and the weight's upper half is not read") {
  const std::int64_t n = 200;
  const Tensor gate = random_tensor({{n, 1, 8}}, 1), x = random_tensor({{n, 1, 8}}, 2), bias = random_tensor({{n}}, 3);
  const Tensor w = random_tensor({{n, n}}, 4);
  const Tensor y = spatial_gate(gate, x, w, bias, true);
  Tensor other = raw::contiguous(add(x, Tensor::zeros({1}, DType::f64)));
  Tensor later = slice(other, 0, 100, n);
  raw::fill(later, 1e9);
  Tensor nan = Tensor::full({n, n}, std::nan(""), DType::f64);
  for (std::int64_t i = 0; i < n; ++i) {
    Tensor row = slice(slice(nan, 0, i, i + 1), 1, 0, i + 1);
    raw::copy(slice(slice(w, 0, i, i + 1), 1, 0, i + 1), row);
  }
  CHECK(same_bits(slice(spatial_gate(gate, other, nan, bias, true), 0, 0, 100), slice(y, 0, 0, 100)));
}

TEST_CASE("spatial_gate: errors") {
  const auto zeros = [](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(shape, dtype); };
  CHECK_THROWS_WITH_AS(spatial_gate(zeros({3, 2, 4}), zeros({3, 2, 5}), zeros({3, 3}), zeros({3})),
                       "[spatial_gate] expected gate and x of the same shape (n, b, d), got (3, 2, 4) and (3, 2, 5)",
                       Error);
  CHECK_THROWS_WITH_AS(spatial_gate(zeros({3, 2, 4}), zeros({3, 2, 4}), zeros({4, 3}), zeros({3})),
                       "[spatial_gate] expected weight of shape (3, 3) and bias of shape (3,), got (4, 3) and (3,)",
                       Error);
  CHECK_THROWS_AS(spatial_gate(zeros({3, 2, 4}), zeros({3, 2, 4}, DType::f64), zeros({3, 3}), zeros({3})), Error);
}

}  // namespace
}  // namespace weft::test
