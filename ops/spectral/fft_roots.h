// Roots of unity for the tables of plans.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::detail {

using Complex = std::complex<long double>;

// exp(-2πi k/n), 0 <= k < n. The angle π/2 · p/n is reduced to the first octant in whole numbers.
inline Complex unit_root(std::int64_t k, std::int64_t n) {
  const long double quarter = 1.57079632679489661923132169163975144L;
  const bool below = 2 * k <= n;
  std::int64_t p = 4 * (below ? k : n - k);
  const bool left = p > n;
  if (left) p = 2 * n - p;
  const bool steep = 2 * p > n;
  if (steep) p = n - p;
  const long double angle = quarter * static_cast<long double>(p) / static_cast<long double>(n);
  long double c = std::cos(angle), s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? -s : s};
}

// Real and imaginary parts in turn.
template <class T>
std::vector<T> interleaved(const std::vector<Complex>& z) {
  std::vector<T> v;
  v.reserve(2 * z.size());
  for (const Complex& c : z) {
    v.push_back(static_cast<T>(c.real()));
    v.push_back(static_cast<T>(c.imag()));
  }
  return v;
}

}  // namespace weft::detail
