#include "rows/kernels/norm.h"

#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

template <class T>
constexpr T largest = static_cast<T>(sizeof(T) == sizeof(float) ? __FLT_MAX__ : __DBL_MAX__);

template <class T>
T finite(double x) noexcept {
  return x > static_cast<double>(largest<T>) ? largest<T> : static_cast<T>(x);
}

// A type that can represent the square of any T, and sums of such squares.
template <class T>
struct WiderOf {
  using type = double;
};
template <>
struct WiderOf<double> {
  using type = long double;
};
template <class T>
using Wider = typename WiderOf<Computed<T>>::type;

// The statistics of a row for x̂ = (x - mean) rstd, in float or double.
template <class T>
struct Row {
  T mean, rstd;
  Vec<T> normalized(Vec<T> x) const noexcept { return (x - Vec<T>(mean)) * Vec<T>(rstd); }
};

// The average of x - mean.
template <class T>
Computed<T> average_about(const T* x, std::int64_t n, Computed<T> mean) noexcept {
  const auto sum =
      simd::sums<T, 1>(n, [x, mean](auto at, Vec<T>* a) noexcept { a[0] += at.load(x, mean) - Vec<T>(mean); });
  return sum.of[0] / static_cast<Computed<T>>(n);
}

// The average of (x - mean)².
template <class T>
double squares_about(const T* x, std::int64_t n, Computed<T> mean) noexcept {
  const auto squares = simd::sums<T, 1>(n, [x, mean](auto at, Vec<T>* a) noexcept {
    const Vec<T> d = at.load(x, mean) - Vec<T>(mean);
    a[0] = simd::fma(d, d, a[0]);
  });
  return static_cast<double>(squares.of[0]) / static_cast<double>(n);
}

// The average of (x - mean)², for elements whose squares may exceed T's range.
template <class T>
Wider<T> wide_squares_about(const T* x, std::int64_t n, Wider<T> mean) noexcept {
  Wider<T> squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += (simd::get(x + i) - mean) * (simd::get(x + i) - mean);
  return squares / static_cast<Wider<T>>(n);
}

template <class T>
[[gnu::noinline]] Row<Computed<T>> wide_layer_row(const T* x, std::int64_t n, double eps) noexcept {
  Wider<T> sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += simd::get(x + i);
  const Wider<T> mean = sum / static_cast<Wider<T>>(n), variance = wide_squares_about(x, n, mean);
  return {static_cast<Computed<T>>(mean),
          finite<Computed<T>>(static_cast<double>(1 / __builtin_sqrtl(variance + eps)))};
}

// Corrects a mean. A mean from sums in T has errors in its last digits. In rows that are nearly constant, these errors
// dominate the variance. The average of x - mean gives the error, which is then removed. This is repeated at most 4
// times, because the sums of the longest rows have larger errors.
template <class T>
[[gnu::noinline]] Computed<T> corrected_mean(const T* x, std::int64_t n, Computed<T> mean) noexcept {
  for (int i = 0; i < 4; ++i) {
    const Computed<T> before = mean;
    mean += average_about(x, n, mean);
    if (mean == before) break;
  }
  return mean;
}

// Takes two passes over a row that stays in cache: first for the mean, then for the squares of the differences. More
// passes follow if the standard deviation is below a 64th of the mean. If the squares overflow, a wider type is used.
template <class T>
Row<Computed<T>> layer_row(const T* x, std::int64_t n, double eps) noexcept {
  const auto sum = simd::sums<T, 1>(n, [x](auto at, Vec<T>* a) noexcept { a[0] += at.load(x); });
  Computed<T> mean = sum.of[0] / static_cast<Computed<T>>(n);
  double variance = squares_about(x, n, mean);
  if (variance < static_cast<double>(mean) * static_cast<double>(mean) * 0x1p-12) {
    mean = corrected_mean(x, n, mean);
    variance = squares_about(x, n, mean);
  }
  if (!(variance <= static_cast<double>(largest<Computed<T>>))) return wide_layer_row(x, n, eps);
  return {mean, finite<Computed<T>>(1 / __builtin_sqrt(variance + eps))};
}

// ‖x‖₂/√n
template <class T>
Computed<T> rms_of(const T* x, std::int64_t n) noexcept {
  const auto squares = simd::sums<T, 1>(n, [x](auto at, Vec<T>* a) noexcept {
    const Vec<T> v = at.load(x);
    a[0] = simd::fma(v, v, a[0]);
  });
  if (!(squares.of[0] <= largest<Computed<T>>))
    return static_cast<Computed<T>>(__builtin_sqrtl(wide_squares_about(x, n, Wider<T>(0))));
  return static_cast<Computed<T>>(__builtin_sqrt(static_cast<double>(squares.of[0]) / static_cast<double>(n)));
}

template <class T>
void layer(const T* x, std::int64_t x_row, const Computed<T>* gamma, const Computed<T>* beta, double eps, T* y,
           Computed<T>* stats, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += x_row, y += n) {
    const Row<Computed<T>> row = layer_row(x, n, eps);
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      at.prefetch(x + x_row);
      at.prefetch_to_write(y + n);
      at.store(y, simd::fma(row.normalized(at.load(x)), at.load(gamma), at.load(beta)));
    });
    if (stats == nullptr) continue;
    *stats++ = row.mean;
    *stats++ = row.rstd;
  }
}

template <class T>
void rms(const T* x, std::int64_t x_row, const Computed<T>* gamma, double eps, T* y, Computed<T>* stats,
         std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += x_row, y += n) {
    const Computed<T> scale = rms_of(x, n), rstd = finite<Computed<T>>(1 / (static_cast<double>(scale) + eps));
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      at.prefetch(x + x_row);
      at.prefetch_to_write(y + n);
      at.store(y, at.load(x) * Vec<T>(rstd) * at.load(gamma));
    });
    if (stats == nullptr) continue;
    *stats++ = scale;
    *stats++ = rstd;
  }
}

// The values that a row's gradients need, in float or double: dx = rstd (g - offset - x̂ slope), g = dy ⊙ gamma.
template <class T>
struct RowGradient {
  Row<T> row;
  T offset, slope;
};

// The sums of g and of g x̂.
template <class T>
simd::Sums<T, 2> gradient_sums(const T* x, const Computed<T>* gamma, const T* dy, Row<Computed<T>> row,
                               std::int64_t n) noexcept {
  return simd::sums<T, 2>(n, [=](auto at, Vec<T>* a) noexcept {
    const Vec<T> g = at.load(dy) * at.load(gamma);
    a[0] += g;
    a[1] = simd::fma(g, row.normalized(at.load(x, row.mean)), a[1]);  // padding adds 0, even if rstd is huge
  });
}

// Layer norm saves mean and rstd.
struct Layer {
  template <class T>
  static Row<T> row(const T* stats) noexcept {
    return {stats[0], stats[1]};
  }
  template <class T>
  static RowGradient<Computed<T>> gradient(const T* x, const Computed<T>* gamma, const Computed<T>* stats, const T* dy,
                                           std::int64_t n) noexcept {
    const auto sum = gradient_sums(x, gamma, dy, row(stats), n);
    return {row(stats), sum.of[0] / static_cast<Computed<T>>(n), sum.of[1] / static_cast<Computed<T>>(n)};
  }
};

// RMS norm saves ‖x‖₂/√n and rstd.
struct Rms {
  template <class T>
  static Row<T> row(const T* stats) noexcept {
    return {T(0), stats[1]};
  }
  template <class T>
  static RowGradient<Computed<T>> gradient(const T* x, const Computed<T>* gamma, const Computed<T>* stats, const T* dy,
                                           std::int64_t n) noexcept {
    if (stats[0] == 0) return {row(stats), 0, 0};
    const Computed<T> sum = gradient_sums(x, gamma, dy, row(stats), n).of[1];
    return {row(stats), 0, sum / static_cast<Computed<T>>(n) / (stats[0] * stats[1])};
  }
};

template <class T>
Vec<T> input_gradient(Vec<T> normalized, Vec<T> g, const RowGradient<T>& r) noexcept {
  return simd::fnma(normalized, Vec<T>(r.slope), g - Vec<T>(r.offset)) * Vec<T>(r.row.rstd);
}

// Computes the gradients of `count` rows in one pass. The gradients of the parameters stay in registers across the
// rows. Prefetches the next rows.
template <class T, int count>
void all_gradients(const T* x, std::int64_t x_row, const Computed<T>* gamma, const T* dy, T* dx, std::int64_t dx_row,
                   Computed<T>* dgamma, Computed<T>* dbeta, const RowGradient<Computed<T>>* rows,
                   std::int64_t n) noexcept {
  RowGradient<Computed<T>> row[count];
  for (int k = 0; k < count; ++k) row[k] = rows[k];
  simd::for_vectors<T>(n, [=](auto at) noexcept {
    const Vec<T> scale = at.load(gamma);
    Vec<T> a = at.load(dgamma), b = at.load(dbeta);
    repeat<count>([&](auto k) WEFT_INLINE {
      const std::int64_t first = k.value * n;
      at.prefetch(x + (k.value + count) * x_row);
      at.prefetch(dy + first + count * n);
      at.prefetch_to_write(dx + (k.value + count) * dx_row);
      const Vec<T> d = at.load(dy + first), normalized = row[k.value].row.normalized(at.load(x + k.value * x_row));
      a = simd::fma(d, normalized, a);
      b += d;
      at.store(dx + k.value * dx_row, input_gradient(normalized, d * scale, row[k.value]));
    });
    at.store(dgamma, a);
    at.store(dbeta, b);
  });
}

template <class T, class Kind>
void gradients_of_x(const T* x, std::int64_t x_row, const Computed<T>* gamma, const Computed<T>* stats, const T* dy,
                    T* dx, std::int64_t dx_row, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += x_row, dy += n, dx += dx_row, stats += 2) {
    const RowGradient<Computed<T>> row = Kind::gradient(x, gamma, stats, dy, n);
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      at.prefetch(x + x_row);
      at.prefetch(dy + n);
      at.prefetch_to_write(dx + dx_row);
      at.store(dx, input_gradient(row.row.normalized(at.load(x)), at.load(dy) * at.load(gamma), row));
    });
  }
}

template <class T, class Kind>
void gradients_of_parameters(const T* x, std::int64_t x_row, const Computed<T>* stats, const T* dy, Computed<T>* dgamma,
                             Computed<T>* dbeta, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += x_row, dy += n, stats += 2) {
    const Row<Computed<T>> row = Kind::row(stats);
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      const Vec<T> d = at.load(dy);
      at.store(dgamma, simd::fma(d, row.normalized(at.load(x)), at.load(dgamma)));
      at.store(dbeta, d + at.load(dbeta));
    });
  }
}

template <class T, class Kind>
void backward(const T* x, std::int64_t x_row, const Computed<T>* gamma, const Computed<T>* stats, const T* dy, T* dx,
              std::int64_t dx_row, Computed<T>* dgamma, Computed<T>* dbeta, std::int64_t rows,
              std::int64_t n) noexcept {
  if (dgamma == nullptr) return gradients_of_x<T, Kind>(x, x_row, gamma, stats, dy, dx, dx_row, rows, n);
  for (std::int64_t i = 0; i < n; ++i) dgamma[i] = dbeta[i] = 0;
  if (dx == nullptr) return gradients_of_parameters<T, Kind>(x, x_row, stats, dy, dgamma, dbeta, rows, n);
  // The number of rows that are processed together. Larger: there are too few registers. Smaller: dgamma and dbeta are
  // read more often.
  // bench: weft-bench --benchmark_filter='(layer|rms)-norm-backward'
  constexpr int group = 2;
  RowGradient<Computed<T>> row[group];
  while (rows > 0) {
    const std::int64_t count = rows >= group ? group : 1;
    for (std::int64_t k = 0; k < count; ++k)
      row[k] = Kind::gradient(x + k * x_row, gamma, stats + 2 * k, dy + k * n, n);
    if (count == group) all_gradients<T, group>(x, x_row, gamma, dy, dx, dx_row, dgamma, dbeta, row, n);
    else all_gradients<T, 1>(x, x_row, gamma, dy, dx, dx_row, dgamma, dbeta, row, n);
    x += count * x_row;
    dy += count * n;
    dx += count * dx_row;
    stats += 2 * count;
    rows -= count;
  }
}

template <class T>
constexpr NormKernels<T> table() {
  return {.layer = layer<T>, .rms = rms<T>, .layer_backward = backward<T, Layer>, .rms_backward = backward<T, Rms>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(NormKernels)
