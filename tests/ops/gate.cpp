// Tests gate ⊙ f(x), as linear and spatial_gate record it. Also tests gradients that are written directly into a part
// of a larger gradient.
#include <doctest/doctest.h>

#include <algorithm>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

Tensor norm_of(const Tensor& x) { return layer_norm(x, 1, {}, {}); }
// Returns a copy of x with separate storage, so that its gradient can't be written directly into x's gradient.
Tensor apart(const Tensor& x) { return scale(x, 1.0); }
Tensor half(const Tensor& x, std::size_t i, std::int64_t dim) { return chunk(x, 2, dim)[i]; }

// Applies f to parts of in[0]. The oracle applies f to copies of the parts.
template <class F>
OpCase parts(const std::string& name, const Shape& shape, F f) {
  return {name,
          {{shape}},
          [f](Ins in) { return f(in[0], [](const Tensor& part) { return part; }); },
          [f](Ins in) { return f(in[0], apart); }};
}

const OpCases places{
    parts("norms of halves of rows", {3, 2, 8},
          [](const Tensor& x, auto part) {
            return sub(norm_of(part(half(x, 0, -1))), scale(norm_of(part(half(x, 1, -1))), 3));
          }),
    parts("norm of one half", {3, 8}, [](const Tensor& x, auto part) { return norm_of(part(half(x, 1, -1))); }),
    parts("norm of a half of rows", {4, 5}, [](const Tensor& x, auto part) { return norm_of(part(half(x, 0, 0))); }),
    parts("norm of rows that are no matrix", {3, 4, 5},
          [](const Tensor& x, auto part) { return norm_of(part(half(x, 1, 1))); }),
    parts("norm over two axes of a part", {4, 3, 6},
          [](const Tensor& x, auto part) { return layer_norm(part(half(x, 0, 2)), 2, {}, {}); }),
    parts("norm of every other element", {3, 9},
          [](const Tensor& x, auto part) { return norm_of(part(slice(x, 1, 1, 8, 2))); }),
    parts("norm of single elements", {3, 4},
          [](const Tensor& x, auto part) { return rms_norm(part(slice(x, 1, 2, 3)), {}, 1.0); }),
    parts("norms of thirds", {2, 9},
          [](const Tensor& x, auto part) {
            const std::vector<Tensor> thirds = chunk(x, 3, -1);
            return add(norm_of(part(thirds[2])), scale(mul(norm_of(part(thirds[0])), norm_of(part(thirds[1]))), 2));
          }),
    parts("a half twice, and the whole", {3, 8},
          [](const Tensor& x, auto part) {
            const Tensor left = part(half(x, 0, -1));
            return add(mul(norm_of(left), rms_norm(left)), mul(norm_of(part(half(x, 1, -1))), half(norm_of(x), 0, -1)));
          }),
    parts("parts that overlap", {2, 9},
          [](const Tensor& x, auto part) {
            return mul(norm_of(part(slice(x, 1, 0, 6))), norm_of(part(slice(x, 1, 3, 9))));
          }),
    parts(
        "a part of a part", {2, 12},
        [](const Tensor& x, auto part) { return mul(norm_of(part(half(half(x, 1, -1), 0, -1))), slice(x, 1, 0, 3)); }),
};

OpCase gate_of_parts(const std::string& name, const Shape& shape, std::int64_t dim, std::size_t gate, std::size_t x) {
  const Shape out = [&] {
    Shape s = shape;
    s[static_cast<std::size_t>(dim)] /= 2;
    return s;
  }();
  const std::int64_t d = out.back();
  const auto run = [=](Ins in, auto part) {
    return linear(part(half(in[0], x, dim)), in[1], {}, {Activation::silu, part(half(in[0], gate, dim))});
  };
  return {name,
          {{shape}, {{d, d}}},
          [run](Ins in) { return run(in, [](const Tensor& t) { return t; }); },
          [run](Ins in) { return run(in, apart); }};
}

const OpCases gates{
    gate_of_parts("linear and its gate of two halves", {3, 2, 10}, 2, 0, 1),
    gate_of_parts("linear and its gate of one half", {3, 2, 10}, 2, 1, 1),
    gate_of_parts("linear and its gate of halves of rows", {2, 4, 5}, 1, 1, 0),
    gate_of_parts("linear and its gate of halves of one channel", {4, 2}, 1, 0, 1),
    {"spatial_gate of two halves",
     {{{5, 2, 8}}, {{5, 5}}, {{5}}},
     [](Ins in) { return spatial_gate(half(in[0], 0, -1), half(in[0], 1, -1), in[1], in[2], true); },
     [](Ins in) { return spatial_gate(apart(half(in[0], 0, -1)), apart(half(in[0], 1, -1)), in[1], in[2], true); }},
};

// Returns y and the gradients of the watched tensors, for a random cotangent.
std::vector<Tensor> gated(const std::vector<Tensor>& in, Activation f, bool fused, bool watch_x, bool watch_gate) {
  Tape tape;
  const Tensor x = watch_x ? tape.watch(in[0]) : in[0], gate = watch_gate ? tape.watch(in[2]) : in[2];
  const Tensor y = fused ? linear(x, in[1], {}, {f, gate}) : mul(gate, activation(linear(x, in[1]), f));
  Gradients gradients;
  tape.backward(y, raw::convert(random_tensor({y.shape()}, 4), y.dtype()), gradients);
  std::vector<Tensor> results = {y.detach()};
  if (watch_x) results.push_back(gradients.of(x));
  if (watch_gate) results.push_back(gradients.of(gate));
  return results;
}

// The rows are longer than an activation's stage, there are several tasks, and the gate's rows have gaps between them.
TEST_CASE("linear with a gate: long rows, each gradient separately, the same bits for any number of threads") {
  const Tensor wide = random_tensor({{40, 10000}}, 3);
  const std::vector<Tensor> in = {random_tensor({{40, 6}}, 1), random_tensor({{5000, 6}}, 2), half(wide, 1, 1)};
  for (const DType dtype : {DType::f64, DType::f32})
    for (const Activation f : {Activation::silu, Activation::none})
      for (const auto& [watch_x, watch_gate] : {std::pair{true, true}, {true, false}, {false, true}}) {
        std::vector<Tensor> own = {raw::convert(in[0], dtype), raw::convert(in[1], dtype),
                                   half(raw::convert(wide, dtype), 1, 1)};
        const auto want = gated(in, f, false, watch_x, watch_gate);
        std::vector<std::vector<Tensor>> results;
        for (const int threads : {1, 3, 8}) {
          Context context;
          ContextScope scope(context);
          context.set_threads(threads);
          results.push_back(gated(own, f, true, watch_x, watch_gate));
          for (std::size_t i = 0; i < want.size(); ++i) {
            CHECK(same_bits(results.back()[i], results[0][i]));
            CHECK(max_difference(results[0][i], want[i]) <= (dtype == DType::f64 ? 1e-12 : 2e-5) * max_abs(want[i]));
          }
        }
      }
}

}  // namespace
}  // namespace weft::test
