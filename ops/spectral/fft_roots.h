// Roots of unity for the tables of plans.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::detail {

using Complex = std::complex<long double>;

// exp(-2πi k/n), 0 <= k < n. The angle π/2 · p/n is reduced to the first octant in integers.
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

// Returns a b. operator* would also handle infinities, which cannot occur here.
inline Complex times(const Complex& a, const Complex& b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The roots exp(-2πi k/n), 0 <= k < n, for plans of a long n that need most of the roots. A sine and a cosine take as
// long as twenty products. If n is at least `shortest`, a root is therefore the product of the root for k's higher
// digits and the root for its lower digits, with an error of at most 2 units in the last place of long double. Shorter
// tables contain the roots themselves.
class UnitRoots {
 public:
  explicit UnitRoots(std::int64_t n) : n_(n) {
    if (n < shortest) return;
    while (std::int64_t{1} << 2 * shift_ < n) ++shift_;
    const std::int64_t step = std::int64_t{1} << shift_;
    for (std::int64_t k = 0; k < n; k += step) high_.push_back(unit_root(k, n));
    for (std::int64_t k = 0; k < step; ++k) low_.push_back(unit_root(k, n));
  }
  Complex operator()(std::int64_t k) const noexcept {
    if (n_ < shortest) return unit_root(k, n_);
    const std::int64_t step = std::int64_t{1} << shift_;
    return times(high_[static_cast<std::size_t>(k >> shift_)], low_[static_cast<std::size_t>(k & (step - 1))]);
  }

 private:
  static constexpr std::int64_t shortest = 1 << 14;

  std::int64_t n_;
  int shift_ = 0;
  std::vector<Complex> high_, low_;
};

// Returns the real and imaginary parts, interleaved.
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
