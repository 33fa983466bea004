#include "spectral/fft_plan.h"

#include <algorithm>

#include "spectral/fft_roots.h"
#include "spectral/plan_cache.h"

namespace weft::detail {
namespace {

// Fourier transforms of n elements with the accuracy of long double. n is a product of primes up to 13.
class ExactTransform {
 public:
  explicit ExactTransform(std::int64_t n) : n_(n) {
    while (n > 1) {
      Level level{radix_of(n), {}};
      const UnitRoots root(n);
      for (std::int64_t k = 0; k < n; ++k) level.roots.push_back(root(k));
      n /= level.radix;
      levels_.push_back(std::move(level));
    }
  }

  // y_k = Σ_j x_j exp(-2πi jk/n)
  void operator()(const Complex* x, Complex* y) const {
    if (levels_.empty()) y[0] = x[0];
    else transform(levels_.data(), x, 1, n_, y);
  }

 private:
  // A pass over sequences of n elements, which combines sequences of n / radix elements. Each pass has its own table of
  // exp(-2πi k/n). In a shared table, the elements for a short sequence would be pages apart.
  struct Level {
    std::int64_t radix;
    std::vector<Complex> roots;
    const Complex& root(std::int64_t k) const noexcept { return roots[static_cast<std::size_t>(k)]; }
  };

  static std::int64_t radix_of(std::int64_t n) {
    std::int64_t p = n % 4 == 0 ? 4 : 2;
    while (n % p != 0) ++p;
    return p;
  }

  static void transform(const Level* level, const Complex* x, std::int64_t stride, std::int64_t n, Complex* y) {
    const std::int64_t p = level->radix, m = n / p;
    if (m == 1) {
      for (std::int64_t q = 0; q < p; ++q) y[q] = x[q * stride];
      return combine(*level, p, y);
    }
    for (std::int64_t q = 0; q < p; ++q) transform(level + 1, x + q * stride, stride * p, m, y + q * m);
    for (std::int64_t k = 0; k < m; ++k) {
      Complex z[13];
      z[0] = y[k];
      for (std::int64_t q = 1; q < p; ++q) z[q] = times(y[q * m + k], level->root(q * k));
      combine(*level, n, z);
      for (std::int64_t q = 0; q < p; ++q) y[q * m + k] = z[q];
    }
  }

  // Transforms the `radix` elements of z in place.
  static void combine(const Level& level, std::int64_t n, Complex* z) {
    const std::int64_t p = level.radix;
    if (p == 2) {
      const Complex a = z[0], b = z[1];
      z[0] = a + b;
      z[1] = a - b;
    } else if (p == 4) {
      const Complex a = z[0] + z[2], b = z[0] - z[2], c = z[1] + z[3], d = z[1] - z[3];
      z[0] = a + c;
      z[1] = {b.real() + d.imag(), b.imag() - d.real()};  // b - i d
      z[2] = a - c;
      z[3] = {b.real() - d.imag(), b.imag() + d.real()};
    } else {
      Complex given[13];
      std::copy_n(z, p, given);
      for (std::int64_t r = 0; r < p; ++r) {
        z[r] = given[0];
        for (std::int64_t q = 1; q < p; ++q) z[r] += times(given[q], level.root(q * r % p * (n / p)));
      }
    }
  }

  std::int64_t n_;
  std::vector<Level> levels_;
};

}  // namespace

template <class T>
FftPlan<T>::FftPlan(std::int64_t n) {
  view_.n = n;
  const std::vector<std::int64_t> radices = fft_radices(n);
  make_order(radices);
  if (radices.empty()) make_chirp();
  else make_passes(radices);
}

// Fills row_of_bin_ and bin_of_row_. Digit l of a bin, in the radix of pass l and counted from the lowest digit, is
// digit l of the row, counted from the highest digit.
template <class T>
void FftPlan<T>::make_order(const std::vector<std::int64_t>& radices) {
  row_of_bin_.resize(static_cast<std::size_t>(view_.n));
  bin_of_row_.resize(static_cast<std::size_t>(view_.n));
  for (std::int64_t row = 0; row < view_.n; ++row) {
    std::int64_t rest = row, stride = view_.n, bin = radices.empty() ? row : 0, weight = 1;
    for (std::int64_t radix : radices) {
      stride /= radix;
      bin += rest / stride * weight;
      rest %= stride;
      weight *= radix;
    }
    bin_of_row_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(bin);
    row_of_bin_[static_cast<std::size_t>(bin)] = static_cast<std::int32_t>(row);
  }
  view_.row_of_bin = row_of_bin_.data();
  view_.bin_of_row = bin_of_row_.data();
}

template <class T>
void FftPlan<T>::make_passes(const std::vector<std::int64_t>& radices) {
  std::int64_t length = view_.n;
  for (std::int64_t radix : radices) {
    const std::int64_t stride = length / radix;
    const UnitRoots root(length);
    std::vector<Complex> twiddles, roots;
    for (std::int64_t i = 0; i < stride; ++i)
      for (std::int64_t j = 1; j < radix; ++j) twiddles.push_back(root(i * j));
    for (std::int64_t j = 0; j < radix; ++j) roots.push_back(std::conj(unit_root(j, radix)));
    tables_.push_back(interleaved<T>(twiddles));
    const T* w = tables_.back().data();
    tables_.push_back(interleaved<T>(roots));
    passes_.push_back({radix, length, w, tables_.back().data()});
    length = stride;
  }
  view_.passes = static_cast<std::int64_t>(passes_.size());
  view_.pass = passes_.data();
}

template <class T>
void FftPlan<T>::make_chirp() {
  const std::int64_t n = view_.n, m = fft_fast_length(2 * n - 1);
  std::vector<Complex> b, folded(static_cast<std::size_t>(m)), spectrum(static_cast<std::size_t>(m));
  const UnitRoots chirp(2 * n);
  for (std::int64_t k = 0; k < n; ++k) {
    b.push_back(std::conj(chirp(k * k % (2 * n))));
    folded[static_cast<std::size_t>(k)] = folded[static_cast<std::size_t>((m - k) % m)] = b.back();
  }
  const ExactTransform transform(m);
  transform(folded.data(), spectrum.data());
  for (Complex& s : spectrum) s /= static_cast<long double>(m);
  convolution_ = std::make_unique<const FftPlan>(m);
  view_.convolution = &convolution_->view();
  std::vector<Complex> rows;
  for (std::int64_t k = 0; k < m; ++k)
    rows.push_back(spectrum[static_cast<std::size_t>(view_.convolution->bin_of_row[k])]);
  tables_.push_back(interleaved<T>(b));
  view_.chirp = tables_.back().data();
  tables_.push_back(interleaved<T>(rows));
  view_.chirp_spectrum = tables_.back().data();
}

template <class T>
std::size_t FftPlan<T>::bytes() const noexcept {
  std::size_t sum = sizeof *this + (convolution_ ? convolution_->bytes() : 0);
  for (const std::vector<T>& table : tables_) sum += table.size() * sizeof(T);
  return sum + (row_of_bin_.size() + bin_of_row_.size()) * sizeof(std::int32_t);
}

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(const char* op, std::int64_t n) {
  return cached_plan<FftPlan<T>>(op, n);
}

template class FftPlan<float>;
template class FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(const char*, std::int64_t);

}  // namespace weft::detail
