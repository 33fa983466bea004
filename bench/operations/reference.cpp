#include "operations/reference.h"

#include <cmath>

namespace weft::bench {
namespace {

using std::size_t;

// e^(-2πi k/n). The angle is reduced to one eighth of the circle, so the only errors are the rounding errors of cosl
// and sinl.
Wide root(size_t k, size_t n) {
  constexpr long double pi = 3.14159265358979323846264338327950288L;
  const size_t eighth = 8 * k / n, folded = eighth % 2 == 0 ? 8 * k - eighth * n : (eighth + 1) * n - 8 * k;
  const long double angle = pi * static_cast<long double>(folded) / (4 * static_cast<long double>(n));
  long double c = std::cos(angle), s = std::sin(angle);
  if ((eighth + 1) / 2 % 2 == 1) std::swap(c, s);
  if (eighth >= 2 && eighth < 6) c = -c;
  return {c, eighth < 4 ? -s : s};
}

size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

// Decimation in time by the smallest prime factor p, with m = n/p: X_k = Σ_r e^(-2πi rk/n) Y_r[k mod m]. Y_r is the
// transform of x_r, x_(r+p), … . x has the given stride. `roots` has a multiple of n elements.
void transform(const Wide* x, size_t stride, size_t n, const std::vector<Wide>& roots, Wide* out) {
  if (n == 1) {
    out[0] = x[0];
    return;
  }
  const size_t p = smallest_factor(n), m = n / p, order = roots.size(), step = order / n;
  std::vector<Wide> parts(n);
  for (size_t r = 0; r < p; ++r) transform(x + r * stride, stride * p, m, roots, parts.data() + r * m);
  for (size_t k = 0; k < n; ++k) {
    long double real = 0, imag = 0;
    const Wide* part = parts.data() + k % m;
    for (size_t r = 0, at = 0; r < p; ++r, at = at + k * step < order ? at + k * step : at + k * step - order) {
      const Wide a = part[r * m], w = roots[at];
      real += a.real() * w.real() - a.imag() * w.imag();
      imag += a.real() * w.imag() + a.imag() * w.real();
    }
    out[k] = {real, imag};
  }
}

}  // namespace

std::vector<Wide> reference_dft(const std::vector<Wide>& x) {
  std::vector<Wide> roots(x.size()), out(x.size());
  for (size_t k = 0; k < x.size(); ++k) roots[k] = root(k, x.size());
  transform(x.data(), 1, x.size(), roots, out.data());
  return out;
}

}  // namespace weft::bench
