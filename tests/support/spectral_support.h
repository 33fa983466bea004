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

constexpr long double turn = 6.28318530717958647692528676655900577L;  // 2π

// Returns exp(2πi k/n) for k < n. Each root is the product of two roots: one for k mod 256, and one for the remaining
// multiple of 256.
inline std::vector<Wide> unit_roots(std::int64_t n) {
  constexpr std::int64_t fine = 256;
  const auto root = [n](std::int64_t k) {
    const long double angle = turn * static_cast<long double>(k) / static_cast<long double>(n);
    return Wide(std::cos(angle), std::sin(angle));
  };
  std::vector<Wide> roots;
  roots.reserve(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    if (k < fine || k % fine == 0) {
      roots.push_back(root(k));
      continue;
    }
    const Wide a = roots[static_cast<std::size_t>(k - k % fine)], b = roots[static_cast<std::size_t>(k % fine)];
    roots.emplace_back(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  }
  return roots;
}

// Σ_j Re(x_j) w^(jk) and Σ_j Im(x_j) w^(jk), with w = exp(-2πi/n). Together they give the forward and inverse
// transforms of x, and the transform of its real part.
struct DirectSums {
  Wide of_real, of_imag;
  Wide forward() const { return of_real + Wide(-of_imag.imag(), of_imag.real()); }
  Wide inverse() const { return std::conj(of_real) + Wide(of_imag.imag(), of_imag.real()); }
};

// Computes the sums for the given k. `roots` comes from unit_roots(n), and x has at most n elements.
inline std::vector<DirectSums> direct_sums(const std::vector<Wide>& x, const std::vector<Wide>& roots,
                                           const std::vector<std::int64_t>& wanted) {
  const auto n = static_cast<std::int64_t>(roots.size());
  std::vector<DirectSums> y;
  for (std::int64_t k : wanted) {
    long double real_cos = 0, real_sin = 0, imag_cos = 0, imag_sin = 0;
    const Wide* w = roots.data();
    std::int64_t at = 0;
    for (const Wide& v : x) {
      real_cos += v.real() * w[at].real();
      real_sin += v.real() * w[at].imag();
      imag_cos += v.imag() * w[at].real();
      imag_sin += v.imag() * w[at].imag();
      at = at + k < n ? at + k : at + k - n;
    }
    y.push_back({{real_cos, -real_sin}, {imag_cos, -imag_sin}});
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

// The growth of the rounding errors of a transform: u √(1 + log₂ n), where u is the unit roundoff. The errors add up
// like a random walk over the log₂ n levels.
template <class T>
double error_growth(std::int64_t n) {
  return std::numeric_limits<T>::epsilon() / 2.0 * std::sqrt(1 + std::log2(static_cast<double>(n)));
}

}  // namespace weft::test
