// Direct transforms in long double, and error bounds, for the spectral tests.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "op_table.h"

namespace weft::test {

using Wide = std::complex<long double>;

// exp(2πi k/n), k < n
inline std::vector<Wide> unit_roots(std::int64_t n) {
  constexpr long double turn = 6.28318530717958647692528676655900577L;
  std::vector<Wide> roots;
  for (std::int64_t k = 0; k < n; ++k) {
    const long double angle = turn * static_cast<long double>(k) / static_cast<long double>(n);
    roots.emplace_back(std::cos(angle), std::sin(angle));
  }
  return roots;
}

// Σ_j x_j exp(∓2πi jk/n) for the wanted k; roots of the same n.
inline std::vector<Wide> direct_sums(const std::vector<Wide>& x, const std::vector<Wide>& roots, bool inverse,
                                     const std::vector<std::int64_t>& wanted) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<Wide> y;
  for (std::int64_t k : wanted) {
    long double re = 0, im = 0;
    const std::int64_t step = inverse ? k : (n - k) % n;
    for (std::int64_t j = 0, at = 0; j < n; ++j) {
      const Wide &v = x[static_cast<std::size_t>(j)], &w = roots[static_cast<std::size_t>(at)];
      re += v.real() * w.real() - v.imag() * w.imag();
      im += v.real() * w.imag() + v.imag() * w.real();
      at = at + step < n ? at + step : at + step - n;
    }
    y.emplace_back(re, im);
  }
  return y;
}

// ‖got - want‖ / ‖want‖ over all elements.
inline double relative_l2(const Tensor& got, const Tensor& want) {
  if (got.shape() != want.shape()) return std::numeric_limits<double>::infinity();
  const auto a = raw::convert(got, DType::c128).to_vector<std::complex<double>>();
  const auto b = raw::convert(want, DType::c128).to_vector<std::complex<double>>();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) error += std::norm(a[i] - b[i]), size += std::norm(b[i]);
  return error == 0 ? 0 : std::sqrt(error / size);
}

// Of a transform's rounding errors, which add up like a random walk over its log₂ n levels (unit roundoff u):
// u √(1 + log₂ n).
template <class T>
double error_growth(std::int64_t n) {
  return std::numeric_limits<T>::epsilon() / 2.0 * std::sqrt(1 + std::log2(static_cast<double>(n)));
}

}  // namespace weft::test
