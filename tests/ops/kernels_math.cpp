// Tests the error of the vector functions in ULP on every instruction set. The reference is the C library in a wider
// type.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pointwise/kernels/activation.h"
#include "pointwise/kernels/binary.h"
#include "pointwise/kernels/unary.h"
#include "weft/random.h"

namespace weft::test {
using namespace detail;

namespace {

template <class T>
struct WiderOf;
template <>
struct WiderOf<float> {
  using Type = double;
  using Bits = std::uint32_t;
};
template <>
struct WiderOf<double> {
  using Type = long double;
  using Bits = std::uint64_t;
};
template <class T>
using Wider = typename WiderOf<T>::Type;
template <class T>
using Bits = typename WiderOf<T>::Bits;

template <class T>
T number(Bits<T> bits) {
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Returns |got - want| in units in the last place of `want` in T. If `want` rounds to `got`, returns 0.5.
template <class T>
double ulps(T got, Wider<T> want) {
  const double wrong = std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : wrong;
  if (got == rounded) return 0.5;
  if (std::isnan(got)) return wrong;
  const T largest = std::numeric_limits<T>::max();
  if (std::isinf(got) || std::isinf(rounded))  // infinity counts as one step beyond the largest finite number
    return (std::isinf(got) ? std::abs(rounded) : std::abs(got)) == largest && (got > 0) == (rounded > 0) ? 1 : wrong;
  if (want == 0) return wrong;
  int exponent = 0;
  (void)std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::abs(got - want) / std::ldexp(Wider<T>(1), exponent - std::numeric_limits<T>::digits));
}

// An error is acceptable if it is at most `bound` ULP, or `absolute`.
template <class T>
struct MathFunction {
  const char* name;
  std::function<void(Isa isa, const T* x, T* y, std::int64_t n)> run;
  Wider<T> (*reference)(Wider<T>);
  double bound, absolute = 0;
};

template <class T>
auto unary(typename UnaryKernels<T>::Forward UnaryKernels<T>::*kernel) {
  return [=](Isa isa, const T* x, T* y, std::int64_t n) { (kernels<UnaryKernels<T>>(isa).*kernel)(x, y, n); };
}

template <class T>
auto value(Activation f) {
  return [=](Isa isa, const T* x, T* y, std::int64_t n) { kernels<ActivationKernels<T>>(isa).forward(f, x, y, n); };
}

template <class T>
auto derivative(Activation f) {
  return [=](Isa isa, const T* x, T* y, std::int64_t n) {
    const std::vector<T> ones(static_cast<std::size_t>(n), T(1));
    kernels<ActivationKernels<T>>(isa).backward(f, x, ones.data(), y, n);
  };
}

template <class R>
R sigmoid_reference(R x) {
  return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

template <class R>
R softplus_reference(R x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

template <class R>
R cdf_reference(R x) {
  return std::erfc(-x / std::sqrt(R(2))) / 2;
}

// Φ(x) + xφ(x), or its limit at ±inf.
template <class R>
R gelu_slope_reference(R x) {
  const R density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(R(-1)));
  return cdf_reference(x) + (density > 0 ? x * density : 0);
}

// The bounds are those in math.h. gelu and silu have one more multiplication.
template <class T>
std::vector<MathFunction<T>> functions() {
  using R = Wider<T>;
  using K = UnaryKernels<T>;
  const bool single = sizeof(T) == 4;
  const double absolute = single ? 1e-7 : 4e-16;
  return {{"exp", unary<T>(&K::exp), [](R x) { return std::exp(x); }, 1.1},
          {"expm1", unary<T>(&K::expm1), [](R x) { return std::expm1(x); }, single ? 1.7 : 2.4},
          {"log", unary<T>(&K::log), [](R x) { return std::log(x); }, 0.9},
          {"tanh", unary<T>(&K::tanh), [](R x) { return std::tanh(x); }, single ? 2.0 : 2.4},
          {"sigmoid", unary<T>(&K::sigmoid), [](R x) { return sigmoid_reference(x); }, 1.9},
          {"erf", unary<T>(&K::erf), [](R x) { return std::erf(x); }, single ? 2.0 : 2.7},
          {"log1p", unary<T>(&K::log1p), [](R x) { return std::log1p(x); }, 2.0},
          {"softplus", unary<T>(&K::softplus), softplus_reference<R>, 2.5},
          {"sin", unary<T>(&K::sin), [](R x) { return std::sin(x); }, single ? 0.51 : 0.9},
          {"cos", unary<T>(&K::cos), [](R x) { return std::cos(x); }, single ? 0.51 : 0.9},
          {"rsqrt", unary<T>(&K::rsqrt), [](R x) { return 1 / std::sqrt(x); }, 1.5},
          {"sqrt", unary<T>(&K::sqrt), [](R x) { return std::sqrt(x); }, 0.5},
          {"gelu", value<T>(Activation::gelu), [](R x) { return x * cdf_reference(x); }, 4, absolute},
          {"gelu'", derivative<T>(Activation::gelu), gelu_slope_reference<R>, 4, absolute},
          {"silu", value<T>(Activation::silu), [](R x) { return x * sigmoid_reference(x); }, 4, absolute}};
}

struct Worst {
  double error = 0, at = 0;
};

template <class T>
void take_worst(Worst& worst, const MathFunction<T>& f, Isa isa, const std::vector<T>& x,
                const std::vector<Wider<T>>& want) {
  std::vector<T> y(x.size());
  f.run(isa, x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::abs(static_cast<double>(y[i] - want[i])) <= f.absolute) continue;
    const double error = ulps(y[i], want[i]);
    if (error > worst.error) worst = {error, static_cast<double>(x[i])};
  }
}

// next(x) fills x with the next numbers to test and returns false at the end.
template <class T, class Next>
void check_bound(const MathFunction<T>& f, Next next) {
  const std::vector<Isa> isas = available_isas();
  std::vector<Worst> worst(isas.size());
  std::vector<T> x;
  while (next(x)) {
    std::vector<Wider<T>> want;
    for (const T v : x) want.push_back(f.reference(v));
    for (std::size_t i = 0; i < isas.size(); ++i) take_worst(worst[i], f, isas[i], x, want);
  }
  for (std::size_t i = 0; i < isas.size(); ++i) {
    const std::string report = std::string(f.name) + " on " + isa_name(isas[i]) + ": " +
                               std::to_string(worst[i].error) + " ULP at " + std::to_string(worst[i].at);
    INFO(report);
    CHECK(worst[i].error <= f.bound);
  }
}

// Numbers of every magnitude (random bits), numbers near 0, 1 and the ends of the range of e^x, and special values.
template <class T>
std::vector<T> sample() {
  const Random random(11);
  std::vector<T> x;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const T u = static_cast<T>(2 * random.uniform(8 * i) - 1);
    x.push_back(number<T>(static_cast<Bits<T>>(random.bits(8 * i + 2))));
    for (const T width : {T(0.5), T(1.5), T(6), T(40), T(110), T(760)}) x.push_back(u * width);
    x.push_back(1 + u * T(1e-3));
  }
  using L = std::numeric_limits<T>;
  for (const T v : {T(0), L::denorm_min(), L::min(), L::max(), L::epsilon(), L::infinity(), T(1), T(0.5), T(88.72283),
                    T(87.33655), T(103.2789), T(103.9721), T(709.782712893384), T(708.3964185322641), T(745.13)})
    for (const T signed_value : {v, -v}) x.push_back(signed_value);
  x.push_back(L::quiet_NaN());
  return x;
}

template <class T>
void check_samples() {
  const std::vector<T> all = sample<T>();
  for (const MathFunction<T>& f : functions<T>()) {
    bool given = false;
    check_bound(f, [&](std::vector<T>& x) {
      x = all;
      return !std::exchange(given, true);
    });
  }
}

}  // namespace

TEST_CASE("vector maths: sampled error bounds in f32") { check_samples<float>(); }
TEST_CASE("vector maths: sampled error bounds in f64") { check_samples<double>(); }

// This test takes a quarter of an hour. Run it with weft-tests -ns -tc="vector maths: every f32"
TEST_CASE("vector maths: every f32" * doctest::skip()) {
  for (const MathFunction<float>& f : functions<float>()) {
    std::uint64_t at = 0;
    check_bound(f, [&](std::vector<float>& x) {
      x.clear();
      for (; at < std::uint64_t{1} << 32 && x.size() < 1 << 16; ++at)
        x.push_back(number<float>(static_cast<std::uint32_t>(at)));
      return !x.empty();
    });
  }
}

namespace {

// Returns the largest error of pow in ULP, for results between e^-range and e^range.
template <class T>
double pow_error(Isa isa, double range) {
  const Random random(12);
  std::vector<T> x, y;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const double log_x = (2 * random.uniform(8 * i) - 1) * (i % 3 == 0 ? 80 : i % 3 == 1 ? 1 : 1e-3);
    x.push_back(static_cast<T>(std::exp(log_x)));
    y.push_back(static_cast<T>((2 * random.uniform(8 * i + 2) - 1) * range / log_x));
  }
  std::vector<T> z(x.size());
  kernels<BinaryKernels<T>>(isa).pow(x.data(), 1, y.data(), 1, z.data(), static_cast<std::int64_t>(x.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, ulps(z[i], std::pow(static_cast<Wider<T>>(x[i]), static_cast<Wider<T>>(y[i]))));
  return worst;
}

}  // namespace

TEST_CASE("vector maths: the error of powers") {
  for (Isa isa : available_isas()) {
    CAPTURE(std::string(isa_name(isa)));
    CHECK(pow_error<float>(isa, 100) <= 0.51);
    CHECK(pow_error<double>(isa, 23) <= 1.2);
    CHECK(pow_error<double>(isa, 750) <= 1.3);
  }
}

// The multiples of π/2 that are closest to f64 or f32 numbers, and numbers on both sides of the vector code's limit.
TEST_CASE("vector maths: sin and cos of arguments that are hard to reduce") {
  std::vector<double> x{6381956970095103 * 0x1p797, 0x1p20, 0x1.0000000000001p20, 0x1.fffffffffffffp19,
                        std::numeric_limits<double>::max()};
  for (int n = 1; n < 4000; n = n * 5 / 4 + 1) {
    x.push_back(n * std::acos(-1.0) / 2);
    x.push_back(std::ldexp(1.0, n % 1024));
    x.push_back(1e6 + n * std::acos(-1.0) / 2);
    x.push_back(0x1p53 * n * std::acos(-1.0) / 2);
  }
  const std::size_t half = x.size();
  for (std::size_t i = 0; i < half; ++i) x.push_back(-x[i]);
  const auto count = static_cast<std::int64_t>(x.size());
  for (Isa isa : available_isas()) {
    CAPTURE(std::string(isa_name(isa)));
    std::vector<double> s(x.size()), c(x.size());
    kernels<UnaryKernels<double>>(isa).sin(x.data(), s.data(), count);
    kernels<UnaryKernels<double>>(isa).cos(x.data(), c.data(), count);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      CHECK(ulps(s[i], std::sin(static_cast<long double>(x[i]))) <= 0.9);
      CHECK(ulps(c[i], std::cos(static_cast<long double>(x[i]))) <= 0.9);
    }
  }
}

// The f32 numbers on both sides of multiples of π/2, including the number below 2^20 that is nearest to such a
// multiple, and the numbers on both sides of 2^20.
TEST_CASE("vector maths: sin and cos of f32 arguments that are hard to reduce") {
  std::vector<float> x{0x1.f9cbe2p+7f, 0x1p20f, 0x1.000002p20f, 0x1.fffffep19f, std::numeric_limits<float>::max()};
  for (int n = 1; n < 1200000; n = n * 5 / 4 + 1) {
    const auto near = static_cast<float>(n * std::acos(-1.0) / 2);
    for (const float v : {near, std::nextafter(near, 0.0f), std::nextafter(near, 2 * near)}) x.push_back(v);
  }
  const std::size_t half = x.size();
  for (std::size_t i = 0; i < half; ++i) x.push_back(-x[i]);
  for (Isa isa : available_isas()) {
    CAPTURE(std::string(isa_name(isa)));
    std::vector<float> s(x.size()), c(x.size());
    kernels<UnaryKernels<float>>(isa).sin(x.data(), s.data(), static_cast<std::int64_t>(x.size()));
    kernels<UnaryKernels<float>>(isa).cos(x.data(), c.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      CHECK(ulps(s[i], std::sin(static_cast<double>(x[i]))) <= 0.51);
      CHECK(ulps(c[i], std::cos(static_cast<double>(x[i]))) <= 0.51);
    }
  }
}

TEST_CASE("vector maths: special values") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (Isa isa : available_isas()) {
    CAPTURE(std::string(isa_name(isa)));
    const UnaryKernels<float>& k = kernels<UnaryKernels<float>>(isa);
    const auto at = [](UnaryKernels<float>::Forward f, float x) {
      float y = 0;
      f(&x, &y, 1);
      return y;
    };
    CHECK(at(k.exp, inf) == inf);
    CHECK(at(k.exp, -inf) == 0);
    CHECK(at(k.expm1, -inf) == -1);
    CHECK(at(k.log, 0) == -inf);
    CHECK(at(k.log, -0.0f) == -inf);
    CHECK(at(k.log, inf) == inf);
    CHECK(std::isnan(at(k.log, -1)));
    CHECK(at(k.tanh, inf) == 1);
    CHECK(at(k.tanh, -inf) == -1);
    CHECK(std::signbit(at(k.tanh, -0.0f)));
    CHECK(at(k.sigmoid, -inf) == 0);
    CHECK(at(k.sigmoid, inf) == 1);
    CHECK(at(k.erf, -inf) == -1);
    for (auto f : {k.exp, k.expm1, k.log, k.log1p, k.softplus, k.tanh, k.sigmoid, k.erf, k.sqrt, k.rsqrt, k.sin, k.cos})
      CHECK(std::isnan(at(f, nan)));
  }
}

TEST_CASE("vector maths: a value doesn't depend on its position") {
  for (Isa isa : available_isas()) {
    CAPTURE(std::string(isa_name(isa)));
    const UnaryKernels<float>& k = kernels<UnaryKernels<float>>(isa);
    for (auto f : {k.exp, k.log, k.log1p, k.softplus, k.tanh, k.sigmoid, k.erf, k.sin, k.cos}) {
      const std::vector<float> x(37, 0.7312f);
      std::vector<float> y(37);
      f(x.data(), y.data(), 37);
      CHECK(std::vector<float>(37, y[0]) == y);
    }
  }
}

}  // namespace weft::test
