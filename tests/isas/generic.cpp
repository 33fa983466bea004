// Tests the vectors that the compiler provides for processors without kernels of their own, on any processor. The
// definitions of this file's target replace those of a line of weft/isas.def.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "simd/power.h"
#include "weft/detail/byte_order.h"
#include "weft/detail/wide_integer.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
std::vector<T> lanes_of(simd::Vec<T> v) {
  std::vector<T> all(simd::lanes<T>);
  simd::store(all.data(), v);
  return all;
}

// The numbers first, first + 1, …, one for each lane.
template <class T>
simd::Vec<T> counted(T first) {
  std::vector<T> all(simd::lanes<T>);
  for (T& x : all) x = first++;
  return simd::load(all.data());
}

TEST_CASE_TEMPLATE("generic vectors: arithmetic, comparisons and selection", T, float, double) {
  using V = simd::Vec<T>;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const V a = counted<T>(1), two(2);
  const auto equal = [](V v, auto expected) {
    const std::vector<T> found = lanes_of<T>(v);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == expected(static_cast<T>(i + 1)));
  };
  equal(a + two, [](T x) { return x + 2; });
  equal(a - two, [](T x) { return x - 2; });
  equal(a * a, [](T x) { return x * x; });
  equal(simd::quotient(a, two), [](T x) { return x / 2; });
  equal(simd::square_root(a), [](T x) { return std::sqrt(x); });
  equal(simd::fma(a, a, two), [](T x) { return x * x + 2; });
  equal(simd::fnma(a, a, two), [](T x) { return 2 - x * x; });
  equal(simd::abs(-a), [](T x) { return x; });
  equal(simd::min(a, two), [](T x) { return x < 2 ? x : T(2); });
  equal(simd::max(a, two), [](T x) { return x > 2 ? x : T(2); });
  equal(simd::select(a < two, -a, a), [](T x) { return x < 2 ? -x : x; });
  equal(simd::select(!(a < two) && (a <= two), -a, a), [](T x) { return x == 2 ? -x : x; });
  equal(simd::select((a > two) || (a == V(1)), -a, a), [](T x) { return x != 2 ? -x : x; });
  equal(simd::select(a >= two, -a, a), [](T x) { return x >= 2 ? -x : x; });
  equal(simd::select(a != two, -a, a), [](T x) { return x != 2 ? -x : x; });
  equal(simd::reversed(a), [](T x) { return static_cast<T>(simd::lanes<T>) + 1 - x; });
  CHECK(simd::any(a == two));
  CHECK_FALSE(simd::any(a == V(nan)));
  CHECK(std::signbit(lanes_of<T>(V(T(-0.0)))[0]));
  CHECK_FALSE(std::signbit(lanes_of<T>(simd::abs(V(T(-0.0))))[0]));
  CHECK(std::isnan(lanes_of<T>(math::at_least(V(nan), two))[0]));
  CHECK(simd::sum(a) == static_cast<T>(simd::lanes<T> * (simd::lanes<T> + 1) / 2));
}

TEST_CASE_TEMPLATE("generic vectors: functions", T, float, double) {
  const double epsilon = 4 * std::numeric_limits<T>::epsilon();
  for (const T x : {T(-20), T(-1.5), T(-1e-3), T(0.25), T(3), T(40), T(1e6), T(1e30)}) {
    CAPTURE(x);
    const simd::Vec<T> v(x);
    const auto is = [&](simd::Vec<T> y, double expected) {
      CHECK(std::abs(lanes_of<T>(y).back() - expected) <= epsilon * std::abs(expected));
    };
    if (x < 80) is(math::exp(v), std::exp(double{x}));
    if (x > 0) is(math::log(v), std::log(double{x}));
    is(math::tanh(v), std::tanh(double{x}));
    is(math::sin(v), std::sin(double{x}));
    is(math::cos(v), std::cos(double{x}));
    is(math::pow(v, simd::Vec<T>(1)), double{x});
  }
}

TEST_CASE("integers of two words are those of the compiler") {
#ifdef __SIZEOF_INT128__
  const std::uint64_t words[] = {0, 1, 3, 0xffffffff, 0x100000000, 0x123456789abcdef0, ~std::uint64_t{0}};
  const auto same = [](WideInteger a, uint128 b) {
    CHECK(static_cast<std::uint64_t>(a) == static_cast<std::uint64_t>(b));
    CHECK(static_cast<std::uint64_t>(a >> 64) == static_cast<std::uint64_t>(b >> 64));
    CHECK(static_cast<bool>(a) == static_cast<bool>(b));
  };
  for (const std::uint64_t x : words)
    for (const std::uint64_t y : words) {
      const WideInteger a = WideInteger{x} << 64 | y;
      const uint128 b = uint128{x} << 64 | y;
      same(a, b);
      same(-a, -b);
      same(a * y, b * y);
      same(a * a, b * b);
      same(a + y, b + y);
      same(a + a, b + b);
      for (const int n : {0, 1, 31, 63, 64, 65, 127}) {
        same(a << n, b << n);
        same(a >> n, b >> n);
      }
    }
#endif
}

TEST_CASE("the byte order of files") {
  unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(number_from<std::uint32_t>(bytes) == 0x04030201);
  reverse_bytes(bytes, 2, 4);
  CHECK(number_from<std::uint64_t>(bytes) == 0x0506070801020304);
  put_number(bytes, std::uint16_t{0x1234});
  CHECK((bytes[0] == 0x34 && bytes[1] == 0x12));
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA
