#include "norm.h"

#include "family.h"
#include "rows.h"

namespace weft::WEFT_ISA {
namespace {

using simd::Vec;

template <class T>
T finite(double x) noexcept {
  const double largest = sizeof(T) == sizeof(float) ? __FLT_MAX__ : __DBL_MAX__;
  return static_cast<T>(x > largest ? largest : x);
}

// What a row's x̂ = (x - mean) rstd is made of.
template <class T>
struct Row {
  T mean, rstd;
  Vec<T> normalized(Vec<T> x) const noexcept { return (x - Vec<T>(mean)) * Vec<T>(rstd); }
};

// Two passes over a row that stays in cache: the mean first, then the squares of what is left.
template <class T>
Row<T> layer_row(const T* x, std::int64_t n, double eps) noexcept {
  const auto sum = simd::sums<T, 1>(n, [x](auto at, Vec<T>* a) noexcept { a[0] += at.load(x); });
  const T mean = sum.of[0] / static_cast<T>(n);
  const auto squares = simd::sums<T, 1>(n, [x, mean](auto at, Vec<T>* a) noexcept {
    const Vec<T> d = at.load(x, mean) - Vec<T>(mean);
    a[0] = simd::fma(d, d, a[0]);
  });
  const double variance = static_cast<double>(squares.of[0]) / static_cast<double>(n);
  return {mean, finite<T>(1 / __builtin_sqrt(variance + eps))};
}

// ‖x‖₂/√n
template <class T>
T rms_of(const T* x, std::int64_t n) noexcept {
  const auto squares = simd::sums<T, 1>(n, [x](auto at, Vec<T>* a) noexcept {
    const Vec<T> v = at.load(x);
    a[0] = simd::fma(v, v, a[0]);
  });
  return static_cast<T>(__builtin_sqrt(static_cast<double>(squares.of[0]) / static_cast<double>(n)));
}

template <class T>
void layer(const T* x, const T* gamma, const T* beta, double eps, T* y, T* stats, std::int64_t rows,
           std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const Row<T> row = layer_row(x, n, eps);
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      at.store(y, simd::fma(row.normalized(at.load(x)), at.load(gamma), at.load(beta)));
    });
    if (stats == nullptr) continue;
    *stats++ = row.mean;
    *stats++ = row.rstd;
  }
}

template <class T>
void rms(const T* x, const T* gamma, double eps, T* y, T* stats, std::int64_t rows, std::int64_t n) noexcept {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const T scale = rms_of(x, n), rstd = finite<T>(1 / (static_cast<double>(scale) + eps));
    simd::for_vectors<T>(n, [=](auto at) noexcept { at.store(y, at.load(x) * Vec<T>(rstd) * at.load(gamma)); });
    if (stats == nullptr) continue;
    *stats++ = scale;
    *stats++ = rstd;
  }
}

// sum of g and of g x̂, g = dy ⊙ gamma
template <class T>
simd::Sums<T, 2> gradient_sums(const T* x, const T* gamma, const T* dy, Row<T> row, std::int64_t n) noexcept {
  return simd::sums<T, 2>(n, [=](auto at, Vec<T>* a) noexcept {
    const Vec<T> g = at.load(dy) * at.load(gamma);
    a[0] += g;
    a[1] = simd::fma(g, row.normalized(at.load(x)), a[1]);
  });
}

// dx = rstd (g - offset - x̂ slope)
template <class T>
void input_gradient(const T* x, const T* gamma, const T* dy, T* dx, Row<T> row, T offset, T slope,
                    std::int64_t n) noexcept {
  simd::for_vectors<T>(n, [=](auto at) noexcept {
    const Vec<T> g = at.load(dy) * at.load(gamma);
    const Vec<T> centred = simd::fnma(row.normalized(at.load(x)), Vec<T>(slope), g - Vec<T>(offset));
    at.store(dx, centred * Vec<T>(row.rstd));
  });
}

template <class T>
void layer_backward(const T* x, const T* gamma, const T* stats, const T* dy, T* dx, std::int64_t rows,
                    std::int64_t n) noexcept {
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, dx += n, stats += 2) {
    const Row<T> row{stats[0], stats[1]};
    const auto sum = gradient_sums(x, gamma, dy, row, n);
    input_gradient(x, gamma, dy, dx, row, sum.of[0] / count, sum.of[1] / count, n);
  }
}

template <class T>
void rms_backward(const T* x, const T* gamma, const T* stats, const T* dy, T* dx, std::int64_t rows,
                  std::int64_t n) noexcept {
  const T count = static_cast<T>(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, dx += n, stats += 2) {
    const Row<T> row{T(0), stats[1]};
    const T q = stats[0] * stats[1];
    const T slope = stats[0] == T(0) ? T(0) : gradient_sums(x, gamma, dy, row, n).of[1] / count / q;
    input_gradient(x, gamma, dy, dx, row, T(0), slope, n);
  }
}

template <class T>
void layer_parameters(const T* x, const T* stats, const T* dy, T* dgamma, T* dbeta, std::int64_t rows,
                      std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) dgamma[i] = dbeta[i] = 0;
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, stats += 2) {
    const Row<T> row{stats[0], stats[1]};
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      const Vec<T> d = at.load(dy);
      at.store(dgamma, simd::fma(d, row.normalized(at.load(x)), at.load(dgamma)));
      at.store(dbeta, d + at.load(dbeta));
    });
  }
}

template <class T>
void rms_parameters(const T* x, const T* stats, const T* dy, T* dgamma, T*, std::int64_t rows,
                    std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) dgamma[i] = 0;
  for (std::int64_t r = 0; r < rows; ++r, x += n, dy += n, stats += 2) {
    const Vec<T> rstd(stats[1]);
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      at.store(dgamma, simd::fma(at.load(dy), at.load(x) * rstd, at.load(dgamma)));
    });
  }
}

template <class T>
constexpr NormKernels<T> table() {
  return {layer<T>, rms<T>, layer_backward<T>, rms_backward<T>, layer_parameters<T>, rms_parameters<T>};
}

}  // namespace

extern const KernelFamily<NormKernels> norm;
constexpr KernelFamily<NormKernels> norm = {table<float>(), table<double>()};

}  // namespace weft::WEFT_ISA
