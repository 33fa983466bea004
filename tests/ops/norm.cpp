#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "op_table.h"
#include "rows/kernels/norm.h"
#include "weft/context.h"

namespace weft::test {
using namespace detail;

namespace {

using Ins = const std::vector<Tensor>&;

// Uses ones and zeros for an undefined weight and bias.
Tensor affine(const Tensor& normalized, const Tensor& weight, const Tensor& bias) {
  const Tensor scaled = weight.defined() ? mul(normalized, weight) : normalized;
  return bias.defined() ? add(scaled, bias) : scaled;
}

// Computes layer_norm by separate operations.
Tensor layer_norm_plain(const Tensor& x, std::int64_t axes, const Tensor& weight, const Tensor& bias, double eps) {
  std::vector<std::int64_t> dims;
  for (std::int64_t d = -axes; d < 0; ++d) dims.push_back(d);
  const Tensor centred = sub(x, mean(x, dims, true));
  const Tensor variance = mean(mul(centred, centred), dims, true);
  return affine(div(centred, sqrt(add(variance, Tensor::scalar(eps, x.dtype())))), weight, bias);
}

// Computes rms_norm by separate operations.
Tensor rms_norm_plain(const Tensor& x, const Tensor& weight, double eps) {
  const Tensor rms = sqrt(mean(mul(x, x), {-1}, true));
  return affine(div(x, add(rms, Tensor::scalar(eps, x.dtype()))), weight, Tensor());
}

Tensor at(Ins in, std::size_t i) { return i < in.size() ? in[i] : Tensor(); }

OpCase layer_case(const std::string& name, const Shape& shape, std::int64_t axes, double eps = 1e-5) {
  const Shape inner(shape.end() - axes, shape.end());
  return {"layer_norm " + name,
          {{shape, -2, 2}, {inner}, {inner}},
          [=](Ins in) { return layer_norm(in[0], axes, in[1], in[2], eps); },
          [=](Ins in) { return layer_norm_plain(in[0], axes, in[1], in[2], eps); }};
}
OpCase rms_case(const std::string& name, const std::vector<In>& inputs, double eps = 1e-8) {
  return {"rms_norm " + name, inputs, [=](Ins in) { return rms_norm(in[0], at(in, 1), eps); },
          [=](Ins in) { return rms_norm_plain(in[0], at(in, 1), eps); }};
}

const OpCases norm_cases{
    layer_case("", {5, 37}, 1),
    layer_case("of a wide row", {3, 150}, 1),
    layer_case("of many rows", {150, 3}, 1),
    layer_case("of a vector", {19}, 1),
    layer_case("over two axes", {3, 4, 5}, 2),
    layer_case("over all axes", {3, 4, 5}, 3),
    layer_case("with a large eps", {4, 9}, 1, 0.5),
    layer_case("with a tiny eps", {4, 9}, 1, 1e-12),
    {"layer_norm of no rows", {{{0, 3}}, {{3}}, {{3}}}, [](Ins in) { return layer_norm(in[0], 1, in[1], in[2]); }},
    {"layer_norm of empty rows", {{{3, 0}}, {{0}}, {{0}}}, [](Ins in) { return layer_norm(in[0], 1, in[1], in[2]); }},
    {"layer_norm without weight and bias",
     {{{4, 9}}},
     [](Ins in) { return layer_norm(in[0], 1, {}, {}); },
     [](Ins in) { return layer_norm_plain(in[0], 1, {}, {}, 1e-5); }},
    {"layer_norm without bias",
     {{{4, 9}}, {{9}}},
     [](Ins in) { return layer_norm(in[0], 1, in[1], {}); },
     [](Ins in) { return layer_norm_plain(in[0], 1, in[1], {}, 1e-5); }},
    {"layer_norm without weight",
     {{{4, 9}}, {{9}}},
     [](Ins in) { return layer_norm(in[0], 1, {}, in[1]); },
     [](Ins in) { return layer_norm_plain(in[0], 1, {}, in[1], 1e-5); }},
    {"layer_norm, then its square",
     {{{4, 9}}, {{9}}, {{9}}},
     [](Ins in) {
       const Tensor y = layer_norm(in[0], 1, in[1], in[2]);
       return mul(y, y);
     }},
    {"layer_norm of a sum",
     {{{4, 3, 21}}, {{4, 3, 21}}, {{21}}, {{21}}},
     [](Ins in) { return layer_norm(in[0], 1, in[2], in[3], 1e-5, in[1]); },
     [](Ins in) { return layer_norm_plain(add(in[0], in[1]), 1, in[2], in[3], 1e-5); }},
    {"layer_norm of a sum of one with itself",
     {{{4, 9}}},
     [](Ins in) { return layer_norm(in[0], 1, {}, {}, 1e-5, in[0]); },
     [](Ins in) { return layer_norm_plain(add(in[0], in[0]), 1, {}, {}, 1e-5); }},
    {"layer_norm of an empty sum",
     {{{0, 3}}, {{0, 3}}},
     [](Ins in) { return layer_norm(in[0], 1, {}, {}, 1e-5, in[1]); }},
    {"rms_norm of a sum",
     {{{5, 18}}, {{5, 18}}, {{18}}},
     [](Ins in) { return rms_norm(in[0], in[2], 1e-8, in[1]); },
     [](Ins in) { return rms_norm(add(in[0], in[1]), in[2], 1e-8); }},
    rms_case("", {{{5, 37}}}),
    rms_case("with weight", {{{2, 3, 18}}, {{18}}}),
    rms_case("of many rows", {{{150, 3}}, {{3}}}),
    rms_case("with a large eps", {{{4, 9}}, {{9}}}, 0.5),
    rms_case("of one", {{{5, 1}, -1, 1, 0.3}, {{1}}}),
    {"rms_norm of no rows", {{{0, 3}}, {{3}}}, [](Ins in) { return rms_norm(in[0], in[1]); }},
    {"rms_norm of empty rows", {{{3, 0}}}, [](Ins in) { return rms_norm(in[0]); }},
};

std::vector<double> as_f64(const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); }

// Returns a row of x, normalized in long double.
std::vector<long double> reference(const std::vector<double>& x, bool centred, double eps) {
  const auto n = static_cast<long double>(x.size());
  long double mean = 0, squares = 0;
  for (double v : x) mean += v;
  mean = centred ? mean / n : 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  const long double spread = centred ? std::sqrt(squares / n + eps) : std::sqrt(squares / n) + eps;
  std::vector<long double> y;
  for (double v : x) y.push_back((v - mean) / spread);
  return y;
}

template <class T>
double kernel_error(Isa isa, std::int64_t n, bool centred) {
  const auto& kernel = kernels<NormKernels<T>>(isa);
  std::vector<T> x(static_cast<std::size_t>(n)), y(x.size()), ones(x.size(), T(1)), zeros(x.size(), T(0));
  const Tensor random = random_tensor({{n}, -1, 3}, static_cast<std::uint64_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random.data<double>()[i]);
  if (centred) kernel.layer(x.data(), n, ones.data(), zeros.data(), 1e-5, y.data(), nullptr, 1, n);
  else kernel.rms(x.data(), n, ones.data(), 1e-8, y.data(), nullptr, 1, n);
  const auto want = reference(std::vector<double>(x.begin(), x.end()), centred, centred ? 1e-5 : 1e-8);
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) worst = std::max(worst, static_cast<double>(std::abs(y[i] - want[i])));
  return worst;
}

}  // namespace

TEST_CASE("norm kernels of every instruction set against long double") {
  for (Isa isa : available_isas())
    for (std::int64_t n = 1; n < 300; n += n < 70 ? 1 : 37) {
      CAPTURE(n);
      for (bool centred : {false, true}) {
        CHECK(kernel_error<float>(isa, n, centred) <= 2e-6);
        CHECK(kernel_error<double>(isa, n, centred) <= 4e-15);
      }
    }
}

TEST_CASE("norm kernels: gradients don't depend on which gradients are requested, nor on overwriting dy") {
  const std::int64_t rows = 5;
  for (Isa isa : available_isas())
    for (const std::int64_t n : {1, 15, 16, 37, 100})
      for (bool centred : {false, true}) {
        CAPTURE(n);
        const auto& k = kernels<NormKernels<float>>(isa);
        const auto kernel = centred ? k.layer_backward : k.rms_backward;
        const auto numbers = [](std::int64_t count, std::uint64_t seed) {
          return to_single(random_tensor({{count}, 0.5, 2}, seed)).to_vector<float>();
        };
        const auto x = numbers(rows * n, 1), dy = numbers(rows * n, 2), gamma = numbers(n, 3),
                   stats = numbers(2 * rows, 4);
        auto dx = dy, alone = dy, own = dy;
        auto dgamma = gamma, dbeta = gamma, dgamma_alone = gamma, dbeta_alone = gamma;
        kernel(x.data(), n, gamma.data(), stats.data(), dy.data(), dx.data(), n, dgamma.data(), dbeta.data(), rows, n);
        kernel(x.data(), n, gamma.data(), stats.data(), dy.data(), alone.data(), n, nullptr, nullptr, rows, n);
        kernel(x.data(), n, gamma.data(), stats.data(), dy.data(), nullptr, n, dgamma_alone.data(), dbeta_alone.data(),
               rows, n);
        CHECK(alone == dx);
        CHECK(dgamma_alone == dgamma);
        CHECK(dbeta_alone == dbeta);
        kernel(x.data(), n, gamma.data(), stats.data(), own.data(), own.data(), n, dgamma_alone.data(),
               dbeta_alone.data(), rows, n);
        CHECK(own == dx);
        CHECK(dgamma_alone == dgamma);
      }
}

TEST_CASE("layer_norm over an axis of length 1 gives exactly the bias") {
  for (DType dtype : {DType::f32, DType::f64})
    for (double eps : {1e-5, 1e-12, 1e-60, 0.0}) {
      const Tensor x = raw::convert(random_tensor({{50, 1}, -100, 100}, 1), dtype);
      const Tensor y = layer_norm(x, 1, Tensor::full({1}, 3.5, dtype), Tensor::full({1}, 0.7, dtype), eps);
      CHECK(same_bits(y, Tensor::full({50, 1}, 0.7, dtype)));
      Tape tape;
      const Tensor leaf = tape.watch(x);
      Gradients gradients;
      tape.backward(layer_norm(leaf, 1, {}, {}, eps), Tensor::full({50, 1}, 2, dtype), gradients);
      CHECK(max_abs(gradients.of(leaf)) == 0);
    }
}

TEST_CASE("layer_norm with a residual: the same bits, recorded or not, whichever term is a leaf, and errors") {
  const Tensor x = random_tensor({{70, 33}}, 1), residual = random_tensor({{70, 33}}, 2);
  const Tensor want = layer_norm(add(x, residual), 1, {}, {});
  CHECK(same_bits(layer_norm(x, 1, {}, {}, 1e-5, residual), want));
  for (const bool first : {true, false}) {
    Tape tape;
    const Tensor leaf = tape.watch(first ? x : residual);
    const Tensor y = first ? layer_norm(leaf, 1, {}, {}, 1e-5, residual) : layer_norm(x, 1, {}, {}, 1e-5, leaf);
    CHECK(same_bits(y.detach(), want));
    Gradients fused, plain;
    tape.backward(sum(square(y)), fused);
    Tape other;
    const Tensor again = other.watch(first ? x : residual);
    other.backward(sum(square(layer_norm(first ? add(again, residual) : add(x, again), 1, {}, {}))), plain);
    CHECK(same_bits(fused.of(leaf), plain.of(again)));
  }
  CHECK_THROWS_WITH_AS(layer_norm(x, 1, {}, {}, 1e-5, slice(residual, 0, 0, 3)),
                       "[layer_norm] expected residual to be an f64 tensor of shape (70, 33), like x, got an f64 "
                       "tensor of shape (3, 33)",
                       Error);
}

TEST_CASE("layer_norm subtracts the mean first") {
  const Tensor x = random_tensor({{20, 65}}, 1);
  const Tensor far = to_single(add(x, Tensor::scalar(4096, DType::f64)));
  CHECK(max_difference(layer_norm(far, 1, {}, {}), layer_norm(raw::convert(far, DType::f64), 1, {}, {})) <= 2e-3);
  const Tensor tiny = scale(x, 1e-12);
  CHECK(max_difference(layer_norm(tiny, 1, {}, {}, 0), layer_norm(x, 1, {}, {}, 0)) <= 1e-10);
}

TEST_CASE("layer_norm of a constant row is the bias for every eps, because the mean is exact") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (DType dtype : {DType::f32, DType::f64})
      for (double value : {0.1, -9.7, 1234.5678, 1e-6, 3e19, -2.9e38})
        for (std::int64_t n : {1, 3, 37, 768, 100003}) {
          CAPTURE(value);
          CAPTURE(n);
          const Tensor row = Tensor::full({n}, value, dtype);
          Tape tape;
          const Tensor leaf = tape.watch(row);
          const Tensor y = layer_norm(leaf, 1, {}, Tensor::full({n}, 0.25, dtype), 1e-12);
          CHECK(same_bits(y.detach(), Tensor::full({n}, 0.25, dtype)));
          Gradients gradients;
          tape.backward(sum(square(y)), gradients);
          CHECK(max_abs(gradients.of(leaf)) <=
                1e6 * (dtype == DType::f32 ? 1e-4 : 1e-12));  // 0, except for the rounding error times 1/√eps
        }
  }
}

TEST_CASE("layer_norm of a constant row of millions of elements is the bias, although its sums lose more digits") {
  const std::int64_t n = 6000037;
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (double value : {0.1, -9.7})
      CHECK(same_bits(layer_norm(Tensor::full({n}, value), 1, {}, Tensor::full({n}, 0.25), 1e-12),
                      Tensor::full({n}, 0.25)));
  }
}

TEST_CASE("layer_norm of nearly constant rows: small differences survive next to a large mean") {
  // 1 and its neighbors in f32. The differences are ±1 and 0 units of 2^-23.
  std::vector<float> row(300, 1);
  for (std::size_t i = 0; i < 100; ++i) {
    row[i] = 1 + 0x1p-23F;
    row[100 + i] = 1 - 0x1p-23F;
  }
  const Tensor x = Tensor::from(row, {300});
  for (double eps : {0.0, 1e-16, 1e-12})
    CHECK(max_difference(layer_norm(x, 1, {}, {}, eps), layer_norm(raw::convert(x, DType::f64), 1, {}, {}, eps)) <=
          1e-6);
}

TEST_CASE("norms of rows whose squares overflow, and their gradients") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (DType dtype : {DType::f32, DType::f64}) {
      const Tensor small = raw::convert(random_tensor({{5, 77}, -1, 2}, 3), dtype);
      for (double factor : dtype == DType::f32 ? std::vector<double>{0x1p62, 0x1p100, 0x1p125}
                                               : std::vector<double>{0x1p500, 0x1p1000, 0x1p1021}) {
        CAPTURE(factor);
        const Tensor large = scale(small, factor);
        for (const bool layer : {true, false}) {
          const Function norm = [&](Ins in) {
            return layer ? layer_norm(in[0], 1, {}, {}, 0) : rms_norm(in[0], {}, 0);
          };
          const Differentiated want = differentiate(norm, {small}, {true}), got = differentiate(norm, {large}, {true});
          const double tolerance = dtype == DType::f32 ? 3e-6 : 1e-14;
          CHECK(max_difference(got.y, want.y) <= tolerance);
          CHECK(max_difference(scale(got.gradients[0], factor), want.gradients[0]) <= 10 * tolerance);
        }
      }
    }
  }
}

TEST_CASE("a row's norm doesn't depend on the other rows") {
  const Tensor x = to_single(random_tensor({{130, 45}}, 1));
  const Tensor all = layer_norm(x, 1, {}, {}), rms = rms_norm(x);
  for (std::int64_t r : {0, 63, 64, 129}) {
    const Tensor row = slice(x, 0, r, r + 1);
    CHECK(same_bits(slice(all, 0, r, r + 1), layer_norm(row, 1, {}, {})));
    CHECK(same_bits(slice(rms, 0, r, r + 1), rms_norm(row)));
  }
}

TEST_CASE("gradients of gamma and beta over many rows are the same for any number of threads") {
  const auto run = [](int threads) {
    Context context;
    context.set_threads(threads);
    ContextScope scope(context);
    return differentiate([](Ins in) { return layer_norm(in[0], 1, in[1], in[2]); },
                         {to_single(random_tensor({{1000, 70}}, 1)), to_single(random_tensor({{70}}, 2)),
                          to_single(random_tensor({{70}}, 3))},
                         {true, true, true});
  };
  const Differentiated one = run(1);
  for (int threads : {2, 3, 8}) {
    const Differentiated more = run(threads);
    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(more.gradients[i], one.gradients[i]));
  }
}

TEST_CASE("norms of zeros, NaN and infinity") {
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor zeros = Tensor::zeros({2, 21}, dtype);
    CHECK(max_abs(rms_norm(zeros)) == 0);
    CHECK(max_abs(layer_norm(zeros, 1, {}, {})) == 0);
    Tape tape;
    const Tensor leaf = tape.watch(zeros);
    Gradients gradients;
    tape.backward(rms_norm(leaf, {}, 0.5), Tensor::full({2, 21}, 3, dtype), gradients);
    CHECK(same_bits(gradients.of(leaf), Tensor::full({2, 21}, 6, dtype)));
    for (double bad : {std::nan(""), inf, -inf}) {
      std::vector<double> row(21, 1);
      row[20] = bad;
      const Tensor x = raw::convert(Tensor::from(row, {21}), dtype);
      for (double v : as_f64(layer_norm(x, 1, {}, {}))) CHECK(std::isnan(v));
      CHECK(std::isnan(as_f64(rms_norm(x)).back()));
    }
  }
}

TEST_CASE("norms: errors") {
  const Tensor x = Tensor::zeros({2, 3}), w = Tensor::zeros({3});
  CHECK_THROWS_WITH_AS(layer_norm(x, 3, {}, {}),
                       "[layer_norm] expected at least 1 and at most 2 axes of an f32 tensor of shape (2, 3), got 3",
                       Error);
  CHECK_THROWS_WITH_AS(
      layer_norm(x, 1, Tensor::zeros({2}), w),
      "[layer_norm] expected weight to be an f32 tensor of shape (3,), got an f32 tensor of shape (2,)", Error);
  CHECK_THROWS_WITH_AS(layer_norm(x, 1, {}, Tensor::zeros({3}, DType::f64)),
                       "[layer_norm] expected bias to be an f32 tensor of shape (3,), got an f64 tensor of shape (3,)",
                       Error);
  CHECK_THROWS_WITH_AS(
      rms_norm(x, Tensor::zeros({2, 3})),
      "[rms_norm] expected weight to be an f32 tensor of shape (3,), got an f32 tensor of shape (2, 3)", Error);
  CHECK_THROWS_AS(layer_norm(x, 0, {}, {}), Error);
  CHECK_THROWS_AS(layer_norm(x, 1, w, w, -1e-5), Error);
  CHECK_THROWS_AS(layer_norm(x, 1, w, w, std::nan("")), Error);
  CHECK_THROWS_AS(layer_norm(Tensor(), 1, w, w), Error);
  CHECK_THROWS_AS(layer_norm(Tensor::zeros({2, 3}, DType::i64), 1, {}, {}), Error);
  CHECK_THROWS_AS(rms_norm(Tensor::zeros({2, 3}, DType::c64)), Error);
  CHECK_THROWS_AS(rms_norm(Tensor::zeros({})), Error);
}

}  // namespace weft::test
