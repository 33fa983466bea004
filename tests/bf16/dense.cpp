// Tests linear, matmul, einsum and spatial_gate in bf16, forward and backward, against f64 results for the same
// numbers. The error bound of a sum of k products is (k + 2) 2^-24 Σ |a b| + k 2^-126, as in gemm.cpp, plus one
// rounding if the result is bf16.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "every_isa.h"
#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using std::int64_t;

Tensor made(const Shape& shape, std::uint64_t seed, DType dtype = DType::bf16) {
  return raw::convert(random_tensor({shape}, seed), dtype);
}
Tensor wide(const Tensor& x) { return raw::convert(x, DType::f64); }
// Returns x, rounded as a bf16 product rounds its operands.
Tensor rounded(const Tensor& x) { return wide(raw::convert(x, DType::bf16)); }
Tensor size_of(const Tensor& x) {  // |x|
  Tensor y = raw::contiguous(x), z = Tensor::empty(x.shape(), DType::f64);
  for (int64_t i = 0; i < x.numel(); ++i) z.mutable_data<double>()[i] = std::abs(y.data<double>()[i]);
  return z;
}

// Each element of `want` is a sum of `terms` products whose magnitudes add up to the element of `scale`. `factor`
// multiplies the error bound to allow for operations after the sums.
void check_near(const Tensor& got, const Tensor& want, const Tensor& scale, int64_t terms, double factor = 1) {
  REQUIRE(got.shape() == want.shape());
  const Tensor x = raw::contiguous(wide(got)), y = raw::contiguous(want), s = raw::contiguous(scale);
  const auto count = static_cast<double>(terms);
  int64_t wrong = 0;
  for (int64_t i = 0; i < y.numel(); ++i) {
    const double value = y.data<double>()[i],
                 error = factor * ((count + 2) * 0x1p-24 * s.data<double>()[i] + count * 0x1p-126),
                 rounding = got.dtype() == DType::bf16 ? 0x1p-8 * (std::abs(value) + error) + 0x1p-126 : 0;
    wrong += !(std::abs(x.data<double>()[i] - value) <= error + rounding);
  }
  CHECK(wrong == 0);
}

struct Run {
  Tensor y;
  std::vector<Tensor> gradients;
};

// Holds the value of f, and its gradients for the cotangent dy.
Run differentiated(const Function& f, const std::vector<Tensor>& in, const Tensor& dy) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& x : in) leaves.push_back(tape.watch(x));
  const Tensor y = f(leaves);
  Gradients gradients;
  tape.backward(y, dy, gradients);
  Run run{y.detach(), {}};
  for (const Tensor& x : leaves) run.gradients.push_back(gradients.of(x));
  return run;
}

// Runs f on one thread. Checks that two threads give the same bits.
Run on_threads(const Function& f, const std::vector<Tensor>& in, const Tensor& dy) {
  const Isa isa = Context::current().isa();
  Run one;
  for (int threads : {1, 2}) {
    Context context;
    context.set_isa(isa);
    context.set_threads(threads);
    const ContextScope scope(context);
    Run run = differentiated(f, in, dy);
    CHECK(same_bits(f(in), run.y));  // without a tape
    if (threads == 1) {
      one = std::move(run);
      continue;
    }
    CHECK(same_bits(run.y, one.y));
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(same_bits(run.gradients[i], one.gradients[i]));
  }
  return one;
}

Tensor transposed(const Tensor& x) { return transpose(x, 0, 1); }

struct ProductSizes {
  int64_t m, n, k;
};
constexpr ProductSizes all_sizes[] = {{1, 1, 1},  {1, 40, 33},   {5, 67, 129},  {8, 33, 300},
                                      {13, 5, 7}, {61, 131, 64}, {97, 70, 2500}};

}  // namespace

TEST_CASE("bf16 linear: values and gradients, weight and bias bf16 or f32") {
  for_every_isa([] {
    for (const ProductSizes& s : all_sizes)
      for (const DType parameters : {DType::f32, DType::bf16}) {
        CAPTURE(s.m);
        CAPTURE(s.n);
        CAPTURE(s.k);
        const Tensor x = made({s.m, s.k}, 1), w = made({s.n, s.k}, 2, parameters), b = made({s.n}, 3, parameters),
                     dy = made({s.m, s.n}, 4);
        const Tensor x64 = wide(x), w64 = rounded(w), b64 = wide(b), dy64 = wide(dy);
        const Run run =
            on_threads([](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2]); }, {x, w, b}, dy);
        CHECK(run.y.dtype() == DType::bf16);
        check_near(run.y, add(matmul(x64, transposed(w64)), b64),
                   add(matmul(size_of(x64), transposed(size_of(w64))), size_of(b64)), s.k);
        CHECK(run.gradients[0].dtype() == DType::bf16);
        check_near(run.gradients[0], matmul(dy64, w64), matmul(size_of(dy64), size_of(w64)), s.n);
        CHECK(run.gradients[1].dtype() == parameters);
        check_near(run.gradients[1], matmul(transposed(dy64), x64), matmul(transposed(size_of(dy64)), size_of(x64)),
                   s.m);
        CHECK(run.gradients[2].dtype() == parameters);
        check_near(run.gradients[2], sum(dy64, {0}), sum(size_of(dy64), {0}), s.m);
      }
  });
}

// The matrices are stored by columns, have gaps between rows, or are empty.
TEST_CASE("bf16 linear: strided and empty matrices") {
  const auto linear_of = [](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2]); };
  for_every_isa([&] {
    for (const ProductSizes& s : {ProductSizes{5, 67, 129}, ProductSizes{61, 131, 64}, ProductSizes{33, 40, 2501}}) {
      CAPTURE(s.m);
      const Tensor b = made({s.n}, 3, DType::f32), dy = transposed(made({s.n, s.m}, 4)), dy64 = wide(dy);
      const Tensor xs[] = {transposed(made({s.k, s.m}, 1)), slice(made({s.m, s.k + 3}, 1), 1, 2, s.k + 2)};
      const Tensor ws[] = {transposed(made({s.k, s.n}, 2)), slice(made({s.n, 2 * s.k}, 2), 1, 1, s.k + 1)};
      for (const Tensor& x : xs)
        for (const Tensor& w : ws) {
          const Tensor x64 = wide(x), w64 = wide(w);
          const Run run = on_threads(linear_of, {x, w, b}, dy);
          check_near(run.y, add(matmul(x64, transposed(w64)), wide(b)),
                     add(matmul(size_of(x64), transposed(size_of(w64))), size_of(wide(b))), s.k);
          check_near(run.gradients[0], matmul(dy64, w64), matmul(size_of(dy64), size_of(w64)), s.n);
          check_near(run.gradients[1], matmul(transposed(dy64), x64), matmul(transposed(size_of(dy64)), size_of(x64)),
                     s.m);
          CHECK(same_bits(packed_linear(x, PackedWeight(w), b), linear(x, raw::contiguous(w), b)));
        }
    }
    for (const ProductSizes& s : {ProductSizes{0, 3, 4}, ProductSizes{3, 0, 4}, ProductSizes{3, 5, 0}}) {
      const Tensor b = made({s.n}, 3);
      const Run run = on_threads(linear_of, {made({s.m, s.k}, 1), made({s.n, s.k}, 2), b}, made({s.m, s.n}, 4));
      CHECK(run.gradients[0].shape() == Shape{s.m, s.k});
      CHECK(run.gradients[1].shape() == Shape{s.n, s.k});
      CHECK(
          same_bits(run.y, s.k == 0 ? raw::contiguous(expand(b, {s.m, s.n})) : Tensor::zeros({s.m, s.n}, DType::bf16)));
      if (s.m == 0) CHECK(same_bits(run.gradients[1], Tensor::zeros({s.n, s.k}, DType::bf16)));
    }
  });
}

TEST_CASE("bf16 linear: every epilogue is applied to the f32 sums and rounded once") {
  for (const ProductSizes& s : all_sizes) {
    const Tensor x = made({s.m, s.k}, 1), w = made({s.n, s.k}, 2, DType::f32), b = made({s.n}, 3, DType::f32),
                 gate = made({s.m, s.n}, 4), residual = made({s.m, s.n}, 5);
    const Tensor w64 = rounded(w), p = add(matmul(wide(x), transposed(w64)), wide(b)),
                 scale = add(matmul(size_of(wide(x)), transposed(size_of(w64))), size_of(wide(b)));
    for_every_isa([&] {
      for (const Activation f : {Activation::none, Activation::relu, Activation::gelu, Activation::silu})
        for (const bool gates : {false, true})
          for (const bool adds : {false, true}) {
            const Epilogue epilogue(f, gates ? gate : Tensor(), adds ? residual : Tensor());
            Tensor y = activation(p, f);
            if (gates) y = mul(wide(gate), y);
            if (adds) y = add(wide(residual), y);
            const Tensor got = linear(x, w, b, epilogue);
            // Activations and later steps are computed in f32, with an error of a few units in the last place of 1 +
            // |p|.
            check_near(got, y, add(scale, Tensor::full(scale.shape(), 4, DType::f64)), s.k + 4, 1.2);
            const PackedWeight packed(raw::convert(w, DType::bf16));
            CHECK(same_bits(packed_linear(x, packed, b, epilogue), got));
          }
    });
  }
}

TEST_CASE("bf16 linear: gradients behind an activation and a gate are those of separate operations") {
  for_every_isa([] {
    const Tensor x = made({37, 41}, 1), w = made({29, 41}, 2, DType::f32), b = made({29}, 3, DType::f32),
                 gate = made({37, 29}, 4), dy = made({37, 29}, 5);
    for (const Activation f : {Activation::none, Activation::gelu}) {
      const auto fused = [f](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2], Epilogue{f, in[3]}); };
      const auto plain = [f](const std::vector<Tensor>& in) {
        return mul(in[3], activation(linear(in[0], in[1], in[2]), f));
      };
      const Run got = differentiated(fused, {x, w, b, gate}, dy), want = differentiated(plain, {x, w, b, gate}, dy);
      for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(got.gradients[i].dtype() == want.gradients[i].dtype());
        // The activation and the gate add two roundings.
        CHECK(max_difference(got.gradients[i], want.gradients[i]) <= 0.02 * max_abs(want.gradients[i]));
      }
    }
  });
}

TEST_CASE("bf16 matmul and einsum: values and gradients") {
  struct Case {
    std::string equation;
    Shape a, b;
    int64_t k;
  };
  const std::vector<Case> cases = {
      {"ij,jk->ik", {61, 131}, {131, 70}, 131},
      {"ij,kj->ik", {5, 301}, {40, 301}, 301},
      {"ji,jk->ik", {301, 50}, {301, 40}, 301},
      {"bij,bjk->bik", {3, 30, 141}, {3, 141, 60}, 141},
      {"ij,jbd->ibd", {33, 33}, {33, 3, 130}, 33},
      {"ijb,jkb->ikb", {3, 4, 129}, {4, 5, 129}, 4},  // small matrices across the batch
      {"ijb,jk->k", {7, 9, 5}, {9, 11}, 315},         // a label that only one operand has
      {"i,i->", {2001}, {2001}, 2001},
      {"ijk,kl->jil", {20, 3, 400}, {400, 37}, 400},  // C by columns
      {"ik,kj->ij", {0, 5}, {5, 3}, 5},
      {"ik,kj->ij", {4, 0}, {0, 3}, 0},
  };
  for_every_isa([&] {
    for (const Case& c : cases) {
      CAPTURE(c.equation);
      const Tensor a = made(c.a, 1), b = made(c.b, 2), a64 = wide(a), b64 = wide(b);
      const Tensor y = einsum(c.equation, {a64, b64}), scale = einsum(c.equation, {size_of(a64), size_of(b64)});
      const Tensor dy = made(y.shape(), 3), dy64 = wide(dy);
      const auto f = [&](const std::vector<Tensor>& in) { return einsum(c.equation, in); };
      const Run run = on_threads(f, {a, b}, dy);
      CHECK(run.y.dtype() == DType::bf16);
      check_near(run.y, y, scale, c.k);
      const Run exact = differentiated(f, {a64, b64}, dy64);
      const Run sizes = differentiated(f, {size_of(a64), size_of(b64)}, size_of(dy64));
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(run.gradients[i].dtype() == DType::bf16);
        check_near(run.gradients[i], exact.gradients[i], sizes.gradients[i], dy.numel());
      }
    }
    const Tensor a = made({2, 5, 33}, 1), b = made({33, 20}, 2);
    check_near(matmul(a, b), matmul(wide(a), wide(b)), matmul(size_of(wide(a)), size_of(wide(b))), 33);
    CHECK(same_bits(matmul(a, b), einsum("bij,jk->bik", {a, b})));
  });
}

TEST_CASE("bf16 spatial_gate: values and gradients, causal or not, weight and bias bf16 or f32") {
  for_every_isa([] {
    for (const int64_t n : {1, 7, 33, 65})
      for (const bool causal : {false, true})
        for (const DType parameters : {DType::f32, DType::bf16}) {
          CAPTURE(n);
          CAPTURE(causal);
          const Shape shape = {n, 2, 35};
          const Tensor gate = made(shape, 1), x = made(shape, 2), w = made({n, n}, 3, parameters),
                       b = made({n}, 4, parameters), dy = made(shape, 5);
          const auto f = [causal](const std::vector<Tensor>& in) {
            return spatial_gate(in[0], in[1], in[2], in[3], causal);
          };
          const Run run = on_threads(f, {gate, x, w, b}, dy);
          const Run exact = differentiated(f, {wide(gate), wide(x), rounded(w), wide(b)}, wide(dy));
          const Run sizes = differentiated(
              f, {size_of(wide(gate)), size_of(wide(x)), size_of(rounded(w)), size_of(wide(b))}, size_of(wide(dy)));
          CHECK(run.y.dtype() == DType::bf16);
          check_near(run.y, exact.y, sizes.y, n + 2);
          const DType dtypes[] = {DType::bf16, DType::bf16, parameters, parameters};
          for (std::size_t i = 0; i < 4; ++i) {
            CAPTURE(i);
            CHECK(run.gradients[i].dtype() == dtypes[i]);
            // The intermediate values are rounded: dv = dy ⊙ gate, and v in the gate's gradient.
            const Tensor scale = add(sizes.gradients[i], Tensor::full(exact.gradients[i].shape(), 0, DType::f64));
            check_near(run.gradients[i], exact.gradients[i], scale, 1 << 16);
          }
        }
  });
}

// The weight's gradient is a sum over b · d terms, which gemm splits into several blocks. If `causal`, only the part on
// and below the diagonal matters.
TEST_CASE("bf16 spatial_gate: the weight's gradient over many channels") {
  for_every_isa([] {
    for (const bool causal : {false, true}) {
      const Shape shape = {29, 3, 1501};
      const Tensor gate = made(shape, 1), x = made(shape, 2), w = made({29, 29}, 3), b = made({29}, 4),
                   dy = made(shape, 5);
      const auto f = [causal](const std::vector<Tensor>& in) {
        return spatial_gate(in[0], in[1], in[2], in[3], causal);
      };
      const Run run = on_threads(f, {gate, x, w, b}, dy);
      const Run exact = differentiated(f, {wide(gate), wide(x), wide(w), wide(b)}, wide(dy));
      const Run sizes = differentiated(f, {size_of(wide(gate)), size_of(wide(x)), size_of(wide(w)), size_of(wide(b))},
                                       size_of(wide(dy)));
      for (std::size_t i = 2; i < 4; ++i)  // dv = dy ⊙ gate is rounded
        check_near(run.gradients[i], exact.gradients[i], sizes.gradients[i], 1 << 16);
    }
  });
}

TEST_CASE("packed_linear: a bf16 weight that was packed for f32, on instruction sets that can't use its panels") {
  const Tensor w = made({20, 31}, 1), x = made({9, 31}, 2, DType::f32), bias = made({20}, 3, DType::f32);
  const PackedWeight packed(w, DType::f32);
  const Tensor want = linear(x, raw::convert(w, DType::f32), bias);
  CHECK(same_bits(packed_linear(x, packed, bias), want));
  for_every_isa([&] { CHECK(max_difference(packed_linear(x, packed, bias), want) <= 1e-5 * max_abs(want)); });
  Tape tape;
  const Tensor leaf = tape.watch(x);
  Gradients gradients;
  tape.backward(sum(packed_linear(leaf, packed, bias), {0, 1}), gradients);
  CHECK(gradients.of(leaf).shape() == x.shape());
}

TEST_CASE("bf16 dense products: errors name the supported combinations") {
  const Tensor x = made({3, 4}, 1), w = made({5, 4}, 2), y = made({3, 5}, 3);
  CHECK_THROWS_WITH_AS(linear(x, made({5, 4}, 2, DType::f64)),
                       "[linear] expected weight of dtype bf16 or f32 for a bf16 x, got an f64 tensor of shape (5, 4)",
                       Error);
  CHECK_THROWS_WITH_AS(linear(x, w, made({5}, 2, DType::f64)),
                       "[linear] expected bias of dtype bf16 or f32 for a bf16 x, got an f64 tensor of shape (5,)",
                       Error);
  CHECK_THROWS_AS(linear(made({3, 4}, 1, DType::f32), w), Error);
  CHECK_THROWS_WITH_AS(
      linear(x, w, {}, Epilogue::adding(made({3, 5}, 3, DType::f32))),
      "[linear] expected residual to be a bf16 tensor of shape (3, 5), got an f32 tensor of shape (3, 5)", Error);
  CHECK_THROWS_AS(matmul(x, made({4, 5}, 2, DType::f32)), Error);
  CHECK_THROWS_AS(einsum("ij,jk->ik", {x, made({4, 5}, 2, DType::f32)}), Error);
  const Tensor z = made({3, 2, 4}, 1);
  CHECK_THROWS_WITH_AS(
      spatial_gate(z, z, made({3, 3}, 2, DType::f64), made({3}, 2)),
      "[spatial_gate] expected weight of dtype bf16 or f32 for a bf16 x, got an f64 tensor of shape (3, 3)", Error);
  CHECK_THROWS_AS(spatial_gate(made({3, 2, 4}, 1, DType::f32), z, made({3, 3}, 2), made({3}, 2)), Error);
}

}  // namespace weft::test
