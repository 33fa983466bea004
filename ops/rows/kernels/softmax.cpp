#include "rows/kernels/softmax.h"

#include "simd/math.h"
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::lanes;
using simd::Vec;

// The padding of a row's last vector. Its exponential is 0.
template <class T>
inline constexpr Computed<T> padding = -math::Constants<Computed<T>>::infinity;

// Returns the maximum of a row. It may miss a NaN, but then the sum of the row's exponentials is NaN.
template <class T>
Computed<T> row_max(const T* x, std::int64_t n) noexcept {
  constexpr std::int64_t step = lanes<T>;
  Vec<T> m[4];  // four maxima, so that comparisons don't wait for each other
  for (Vec<T>& v : m) v = Vec<T>(padding<T>);
  std::int64_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step)
    for (int k = 0; k < 4; ++k) m[k] = simd::max(m[k], simd::load(x + i + k * step));
  for (; i + step <= n; i += step) m[0] = simd::max(m[0], simd::load(x + i));
  if (i < n) m[1] = simd::max(m[1], simd::load_n(x + i, n - i, padding<T>));
  return simd::max(simd::max(simd::max(m[0], m[1]), simd::max(m[2], m[3])));
}

template <class T>
T first(simd::Batch<T> v) noexcept {
  T each[lanes<T>];
  simd::store(each, v);
  return each[0];
}

template <class T>
struct RowStats {
  T max, log_sum;
};

template <class T>
RowStats<Computed<T>> row_stats(const T* x, std::int64_t n) noexcept {
  const Computed<T> max = row_max(x, n);
  const Vec<T> m(max);
  const auto sum = simd::sums<T, 1>(n, [=](auto at, Vec<T>* a) noexcept {
    at.prefetch(x + n);
    a[0] += math::exp_bounded(at.load(x, padding<T>) - m);
  });
  return {max, first(math::log(Vec<T>(sum.of[0])))};
}

template <class T>
void softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) noexcept {
  // Whether the first pass stores e^(x - max) in y. If y would round this value, both passes compute it.
  constexpr bool keeps_powers = std::is_same_v<T, Computed<T>>;
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const Vec<T> m(row_max(x, n));
    const auto sum = simd::sums<T, 1>(n, [=](auto at, Vec<T>* a) noexcept {
      const Vec<T> e = math::exp_bounded(at.load(x, padding<T>) - m);
      at.prefetch(x + n);
      if constexpr (keeps_powers) at.store(y, e);
      a[0] += e;
    });
    const Vec<T> inverse(1 / sum.of[0]);
    if constexpr (keeps_powers) simd::map([inverse](Vec<T> v) noexcept { return v * inverse; }, y, n, y);
    else simd::map([=](Vec<T> v) noexcept { return math::exp_bounded(v - m) * inverse; }, y, n, x);
  }
}

template <class T>
void softmax_backward(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    const auto sum =
        simd::sums<T, 1>(n, [=](auto at, Vec<T>* a) noexcept { a[0] = simd::fma(at.load(y), at.load(dy), a[0]); });
    const Vec<T> dot(sum.of[0]);
    simd::map([dot](Vec<T> p, Vec<T> d) noexcept { return p * (d - dot); }, dx, n, y, dy);
  }
}

template <class T>
void log_softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const auto [max, log_sum] = row_stats(x, n);
    const Vec<T> m(max), l(log_sum);
    simd::map([m, l](Vec<T> v) noexcept { return (v - m) - l; }, y, n, x);
  }
}

template <class T>
void log_softmax_backward(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    const Vec<T> sum(simd::sums<T, 1>(n, [dy](auto at, Vec<T>* a) noexcept { a[0] += at.load(dy); }).of[0]);
    simd::map([sum](Vec<T> v, Vec<T> d) noexcept { return simd::fnma(math::exp(v), sum, d); }, dx, n, y, dy);
  }
}

template <class T>
void logsumexp(const T* x, Computed<T>* y, Computed<T>* stats, std::int64_t rows, std::int64_t n) noexcept {
  using C = Computed<T>;
  for (std::int64_t r = 0; r < rows; ++r, x += n, stats += 2) {
    const C max = row_max(x, n), infinity = math::Constants<C>::infinity;
    stats[0] = max == infinity || max == -infinity ? C(0) : max;  // ∞ - ∞ would be NaN
    const Vec<T> shift(stats[0]);
    const auto sum = simd::sums<T, 1>(n, [=](auto at, Vec<T>* a) noexcept {
      at.prefetch(x + n);
      a[0] += math::exp(at.load(x, padding<T>) - shift);
    });
    stats[1] = first(math::log(Vec<T>(sum.of[0])));
    y[r] = stats[0] + stats[1];
  }
}

template <class T>
void logsumexp_backward(const T* x, const Computed<T>* stats, const Computed<T>* dy, T* dx, std::int64_t rows,
                        std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n, dx += n, stats += 2) {
    const Vec<T> m(stats[0]), l(stats[1]), d(dy[r]);
    simd::map([=](Vec<T> v) noexcept { return d * math::exp((v - m) - l); }, dx, n, x);
  }
}

template <class T>
void cross_entropy(const T* x, const std::int64_t* target, std::int64_t ignore, Computed<T>* loss, Computed<T>* stats,
                   std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n, stats += 2) {
    if (target[r] == ignore) {
      loss[r] = stats[0] = stats[1] = 0;
      continue;
    }
    const auto [max, log_sum] = row_stats(x, n);
    stats[0] = max;
    stats[1] = log_sum;
    loss[r] = log_sum - (simd::get(x + target[r]) - max);
  }
}

template <class T>
void cross_entropy_backward(const T* x, const std::int64_t* target, std::int64_t ignore, const Computed<T>* stats,
                            Computed<T> scale, T* dx, std::int64_t rows, std::int64_t n) noexcept {
  const Vec<T> s(scale);
  for (std::int64_t r = 0; r < rows; ++r, x += n, dx += n, stats += 2) {
    if (target[r] == ignore) {
      for (std::int64_t i = 0; i < n; ++i) simd::put(dx + i, Computed<T>(0));
      continue;
    }
    const Vec<T> m(stats[0]), l(stats[1]);
    const auto scaled = [=](Vec<T> v) noexcept { return s * math::exp((v - m) - l); };
    simd::map(scaled, dx, n, x);
    // If the target's probability is near 1, the difference is small. Therefore, nothing may be rounded before the
    // subtraction.
    if constexpr (std::is_same_v<T, Computed<T>>) dx[target[r]] -= scale;
    else simd::put(dx + target[r], first(scaled(Vec<T>(simd::get(x + target[r])))) - scale);
  }
}

template <class T>
constexpr SoftmaxKernels<T> table() {
  return {.softmax = softmax_rows<T>,
          .softmax_backward = softmax_backward<T>,
          .log_softmax = log_softmax_rows<T>,
          .log_softmax_backward = log_softmax_backward<T>,
          .logsumexp = logsumexp<T>,
          .logsumexp_backward = logsumexp_backward<T>,
          .cross_entropy = cross_entropy<T>,
          .cross_entropy_backward = cross_entropy_backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(SoftmaxKernels)
