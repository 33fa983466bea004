// Tests toeplitz_gradients, which computes the same gradients as weft's tape, for programs that have their own tape.
#include <doctest/doctest.h>

#include "op_table.h"
#include "weft/custom_op.h"
#include "weft/ops.h"
#include "weft/tape.h"

namespace weft::test {
namespace {

Tensor as(DType dtype, const In& in, std::uint64_t seed) { return raw::convert(random_tensor(in, seed), dtype); }

struct Operands {
  Tensor x, t, gradient;
};

Operands operands(const Shape& shape, bool causal, DType dtype) {
  const Shape lags{shape[1], causal ? shape[2] : 2 * shape[2] - 1, shape[3]};
  return {as(dtype, {shape}, 1), as(computed_of(dtype), {lags}, 2), as(dtype, {shape}, 3)};
}

ToeplitzGradients by_tape(const Operands& o, bool causal, ToeplitzForm form) {
  Tape tape;
  const Tensor x = tape.watch(o.x), t = tape.watch(o.t);
  Gradients gradients;
  tape.backward(toeplitz_product(x, t, causal, form), o.gradient, gradients);
  return {gradients.of(x), gradients.of(t)};
}

constexpr ToeplitzForm all_forms[] = {ToeplitzForm::automatic, ToeplitzForm::naive, ToeplitzForm::matrix,
                                      ToeplitzForm::ring};

}  // namespace

TEST_CASE("toeplitz_gradients: they equal those of a tape, bit by bit, in every form") {
  for (const Shape& shape : {Shape{2, 3, 9, 7}, {1, 1, 1, 1}, {3, 2, 300, 5}})
    for (const bool causal : {false, true})
      for (const ToeplitzForm form : all_forms)
        for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
          const Operands o = operands(shape, causal, dtype);
          const ToeplitzGradients expected = by_tape(o, causal, form);
          const ToeplitzGradients both = toeplitz_gradients(o.x, o.t, o.gradient, causal, true, true, form);
          CHECK(same_bits(both.x, expected.x));
          CHECK(same_bits(both.t, expected.t));
          CHECK(both.x.dtype() == dtype);
          CHECK(both.t.dtype() == o.t.dtype());
        }
}

TEST_CASE("toeplitz_gradients: only the requested gradients, for any layout, and a tape records nothing") {
  const Operands o = operands({2, 3, 40, 5}, true, DType::f64);
  const ToeplitzGradients both = toeplitz_gradients(o.x, o.t, o.gradient, true);
  Tape tape;
  const Tensor watched = tape.watch(o.x);
  const std::int64_t records = tape.records();
  const ToeplitzGradients one = toeplitz_gradients(watched, o.t, o.gradient, true, true, false);
  const ToeplitzGradients other = toeplitz_gradients(o.x, o.t, o.gradient, true, false, true);
  CHECK(tape.records() == records);
  CHECK(max_difference(one.x, both.x) < 1e-12);
  CHECK(!one.t.defined());
  CHECK(!other.x.defined());
  CHECK(same_bits(other.t, both.t));
  const Tensor turned = transpose(raw::contiguous(transpose(o.x, 1, 3)), 1, 3);
  const Tensor same_everywhere = expand(Tensor::full({1}, 2, DType::f64), o.x.shape());
  const ToeplitzGradients strided = toeplitz_gradients(turned, o.t, same_everywhere, true);
  const ToeplitzGradients plain = toeplitz_gradients(o.x, o.t, raw::contiguous(same_everywhere), true);
  CHECK(same_bits(strided.x, plain.x));
  CHECK(same_bits(strided.t, plain.t));
  const Tensor none = Tensor::zeros({0, 3, 4, 5});
  CHECK(toeplitz_gradients(none, Tensor::zeros({3, 4, 5}), none, true).t.shape() == Shape{3, 4, 5});
}

TEST_CASE("toeplitz_gradients: errors") {
  const Operands o = operands({2, 3, 4, 5}, true, DType::f32);
  CHECK_THROWS_WITH_AS((void)toeplitz_gradients(o.x, o.t, Tensor::zeros({2, 3, 4, 1}), true),
                       "[toeplitz_gradients] expected gradient to be an f32 tensor of shape (2, 3, 4, 5), like x, got "
                       "an f32 tensor of shape (2, 3, 4, 1)",
                       Error);
  CHECK_THROWS_AS((void)toeplitz_gradients(o.x, o.t, raw::convert(o.gradient, DType::f64), true), Error);
  CHECK_THROWS_AS((void)toeplitz_gradients(o.x, o.t, Tensor(), true), Error);
  CHECK_THROWS_AS((void)toeplitz_gradients(o.x, o.t, o.gradient, false), Error);
  CHECK_THROWS_AS((void)toeplitz_gradients(Tensor(), o.t, o.gradient, true), Error);
  CHECK_THROWS_AS((void)toeplitz_gradients(o.x, o.t, o.gradient, true, true, true, static_cast<ToeplitzForm>(9)),
                  Error);
}

}  // namespace weft::test
