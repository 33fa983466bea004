#include "spectral/kernels/toeplitz_naive.h"

#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

template <class T>
constexpr int64_t row = 2 * simd::lanes<T>;

// Computes R rows of y, starting at row i. In a causal product, all R rows have terms 0 … i, and the remaining terms
// form a triangle. Otherwise all R rows have the same terms.
template <class T, int R>
void multiply_rows(int64_t n, const T* t, const T* x, bool causal, bool accumulate, int64_t i, T* y) noexcept {
  Vec<T> sums[R];
  repeat<R>(
      [&](auto r) noexcept { sums[r.value] = accumulate ? simd::load(y + (i + r.value) * row<T>) : Vec<T>(T(0)); });
  const int64_t common = causal ? i + 1 : n;
  for (int64_t j = 0; j < common; ++j) {
    const Vec<T> v = simd::load(x + j * row<T>);
    const T* from = t + (i - j) * row<T>;
    repeat<R>(
        [&](auto r) noexcept { sums[r.value] = simd::fma(simd::load(from + r.value * row<T>), v, sums[r.value]); });
  }
  if (causal)
    repeat<R - 1>([&](auto e) noexcept {
      constexpr int j = decltype(e)::value + 1;
      const Vec<T> v = simd::load(x + (i + j) * row<T>);
      repeat<R - j>([&](auto lag) noexcept {
        sums[j + lag.value] = simd::fma(simd::load(t + lag.value * row<T>), v, sums[j + lag.value]);
      });
    });
  repeat<R>([&](auto r) noexcept { simd::store(y + (i + r.value) * row<T>, sums[r.value]); });
}

template <class T>
void multiply(int64_t n, const T* t, const T* x, bool causal, bool accumulate, T* y) noexcept {
  // The number of rows that are computed together. Larger: there are too few registers for their sums. Smaller: fewer
  // rows share each load of x.
  // bench: weft-bench --benchmark_filter=toeplitz-naive
  constexpr int R = 8;
  int64_t i = 0;
  for (; i + R <= n; i += R) multiply_rows<T, R>(n, t, x, causal, accumulate, i, y);
  for (; i < n; ++i) multiply_rows<T, 1>(n, t, x, causal, accumulate, i, y);
}

template <class T>
constexpr ToeplitzNaiveKernels<T> table() {
  return {.multiply = multiply<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(ToeplitzNaiveKernels)
