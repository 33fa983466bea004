#include "base/kernels/reduce.h"

#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::lanes;
using simd::Vec;

template <class T>
void sum_rows(const T* x, Computed<T>* y, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n)
    y[r] = simd::sums<T, 1>(n, [x](auto at, Vec<T>* a) noexcept { a[0] += at.load(x); }).of[0];
}

// Sums the columns in groups of four vectors, then in single vectors, then one by one. The sums of a group stay in
// registers over all rows. The order of the additions for a column is always the same.
template <class T>
void sum_columns(const T* x, std::int64_t stride, Computed<T>* y, std::int64_t rows, std::int64_t n) noexcept {
  constexpr std::int64_t step = lanes<T>;
  std::int64_t j = 0;
  for (; j + 4 * step <= n; j += 4 * step) {
    Vec<T> a(0), b(0), c(0), d(0);
    const T* p = x + j;
    for (std::int64_t r = 0; r < rows; ++r, p += stride) {
      a += simd::load(p);
      b += simd::load(p + step);
      c += simd::load(p + 2 * step);
      d += simd::load(p + 3 * step);
    }
    simd::store(y + j, a);
    simd::store(y + j + step, b);
    simd::store(y + j + 2 * step, c);
    simd::store(y + j + 3 * step, d);
  }
  for (; j + step <= n; j += step) {
    Vec<T> a(0);
    for (std::int64_t r = 0; r < rows; ++r) a += simd::load(x + r * stride + j);
    simd::store(y + j, a);
  }
  for (; j < n; ++j) {
    Computed<T> a = 0;
    for (std::int64_t r = 0; r < rows; ++r) a += simd::get(x + r * stride + j);
    y[j] = a;
  }
}

template <class T>
Computed<T> row_max(const T* x, std::int64_t n) noexcept {
  const auto lowest = -static_cast<Computed<T>>(__builtin_inf());
  Vec<T> m(lowest), nan(0);
  simd::for_vectors<T>(n, [&, lowest](auto at) noexcept {
    const Vec<T> v = at.load(x, lowest);
    m = simd::max(m, v);
    nan = simd::select(v == v, nan, v);
  });
  const Computed<T> found = simd::sum(nan);
  return found == found ? simd::max(m) : found;
}

template <class T>
void max_rows(const T* x, T* y, std::int64_t* index, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    const Computed<T> m = row_max(x, n);
    std::int64_t j = 0;
    for (; j < n - 1; ++j) {
      const Computed<T> v = simd::get(x + j);
      if (v == m || v != v) break;
    }
    simd::put(y + r, m);
    index[r] = j;
  }
}

template <class T>
double square(const T* x) noexcept {
  const auto v = static_cast<double>(simd::get(x));
  return v * v;
}

template <class T>
double sum_squares(const T* x, std::int64_t n) noexcept {
  // The number of independent chains of additions. It is the same on all instruction sets, because it determines the
  // result. Larger: more registers are needed. Smaller: additions wait for each other.
  // bench: weft-bench --benchmark_filter=adamw-clip
  constexpr int width = 16;
  double a[width] = {};
  std::int64_t i = 0;
  for (; i + width <= n; i += width)
    for (int k = 0; k < width; ++k) a[k] += square(x + i + k);
  for (int k = 0; i + k < n; ++k) a[k] += square(x + i + k);
  for (int half = width / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) a[k] += a[k + half];
  return a[0];
}

template <class T>
constexpr ReduceKernels<T> table() {
  return {
      .sum_rows = sum_rows<T>, .sum_columns = sum_columns<T>, .max_rows = max_rows<T>, .sum_squares = sum_squares<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(ReduceKernels)
