#include "tnn/eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/error.h"

namespace weft::detail {
namespace {

using std::int64_t;
using Number = std::complex<double>;

constexpr int most_iterations = 100;  // for each eigenvalue; usually 2 or 3 suffice

struct Matrix {
  int64_t n;
  std::vector<Number> values;
  Number& operator()(int64_t i, int64_t j) { return values[static_cast<std::size_t>(i * n + j)]; }
};

// Makes all elements below the first subdiagonal 0 by similarity transforms: Gaussian elimination with pivots (Golub
// and Van Loan, Matrix Computations, section 7.4.7).
void make_hessenberg(Matrix& a) {
  for (int64_t c = 0; c + 2 < a.n; ++c) {
    const int64_t next = c + 1;
    int64_t pivot = next;
    for (int64_t i = next + 1; i < a.n; ++i)
      if (std::abs(a(i, c)) > std::abs(a(pivot, c))) pivot = i;
    if (a(pivot, c) == 0.0) continue;
    for (int64_t j = 0; j < a.n; ++j) std::swap(a(pivot, j), a(next, j));
    for (int64_t i = 0; i < a.n; ++i) std::swap(a(i, pivot), a(i, next));
    for (int64_t i = next + 1; i < a.n; ++i) {
      const Number factor = a(i, c) / a(next, c);
      for (int64_t j = 0; j < a.n; ++j) a(i, j) -= factor * a(next, j);
      for (int64_t j = 0; j < a.n; ++j) a(j, next) += factor * a(j, i);
    }
  }
}

// The eigenvalue of the last two rows and columns up to `last` that is closer to the last element (Wilkinson's shift).
Number shift_of(Matrix& a, int64_t last) {
  const Number p = a(last - 1, last - 1), q = a(last - 1, last), r = a(last, last - 1), s = a(last, last);
  const Number half = (p - s) / 2.0, root = std::sqrt(half * half + q * r);
  const Number x = half + root, y = half - root;
  return s + (std::abs(x) < std::abs(y) ? x : y);
}

// A - shift I = Q R with Givens rotations; A becomes R Q + shift I, for the rows and columns up to `last`.
void qr_step(Matrix& a, int64_t last, Number shift) {
  std::vector<std::pair<Number, Number>> rotations;
  for (int64_t i = 0; i <= last; ++i) a(i, i) -= shift;
  for (int64_t k = 0; k < last; ++k) {
    const double length = std::hypot(std::abs(a(k, k)), std::abs(a(k + 1, k)));
    const Number c = length == 0 ? Number(1) : a(k, k) / length, s = length == 0 ? Number(0) : a(k + 1, k) / length;
    rotations.emplace_back(c, s);
    for (int64_t j = k; j <= last; ++j) {
      const Number x = a(k, j), y = a(k + 1, j);
      a(k, j) = std::conj(c) * x + std::conj(s) * y;
      a(k + 1, j) = c * y - s * x;
    }
  }
  for (int64_t k = 0; k < last; ++k) {
    const auto [c, s] = rotations[static_cast<std::size_t>(k)];
    for (int64_t i = 0; i <= k + 1; ++i) {
      const Number x = a(i, k), y = a(i, k + 1);
      a(i, k) = x * c + y * s;
      a(i, k + 1) = y * std::conj(c) - x * std::conj(s);
    }
  }
  for (int64_t i = 0; i <= last; ++i) a(i, i) += shift;
}

}  // namespace

// The QR algorithm with shifts (Golub and Van Loan, section 7.5). In each step the last subdiagonal element becomes
// smaller. When it is negligible, the last diagonal element is an eigenvalue.
std::vector<Number> eigenvalues(const Tensor& matrix) {
  const std::vector<double> real = matrix.to_vector<double>();
  Matrix a{matrix.size(0), {real.begin(), real.end()}};
  make_hessenberg(a);
  std::vector<Number> all;
  for (int64_t last = a.n - 1; last >= 0; --last) {
    for (int i = 0; last > 0; ++i) {
      const double below = std::abs(a(last, last - 1));
      if (below <= std::numeric_limits<double>::epsilon() * (std::abs(a(last, last)) + std::abs(a(last - 1, last - 1))))
        break;
      if (i == most_iterations) throw Error("[eigenvalues] the iteration does not converge");
      // Every tenth shift is another number, because a few matrices otherwise repeat the same steps.
      qr_step(a, last, i % 10 == 9 ? a(last, last) + below : shift_of(a, last));
    }
    all.push_back(a(last, last));
  }
  return all;
}

}  // namespace weft::detail
