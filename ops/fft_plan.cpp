#include "fft_plan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <list>
#include <mutex>

#include "common.h"
#include "weft/context.h"

namespace weft {
namespace {

using Complex = std::complex<long double>;

constexpr std::int64_t longest = std::int64_t{1} << 30;
constexpr std::size_t cache_bytes = std::size_t{32} << 20;

// exp(-2πi k/n), 0 <= k < n. The angle π/2 · p/n is reduced to the first octant in whole numbers.
Complex unit_root(std::int64_t k, std::int64_t n) {
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

// Modelled time of a pass for each element.
double radix_cost(std::int64_t radix) {
  switch (radix) {
    case 2: return 1.0;
    case 3: return 1.2;
    case 4: return 1.2;
    case 5: return 1.7;
    case 7: return 2.4;
    case 8: return 1.7;
    case 11: return 4.0;
    default: return 5.0;
  }
}

// y_k = Σ_j x_(j stride) root^(jk), of n elements, by the definition for each prime factor.
// roots: exp(-2πi j/N), N a multiple of n.
void transform(const Complex* x, std::int64_t stride, std::int64_t n, const std::vector<Complex>& roots, Complex* y) {
  if (n == 1) {
    y[0] = x[0];
    return;
  }
  std::int64_t p = 2;
  while (n % p != 0) ++p;
  const std::int64_t m = n / p, total = static_cast<std::int64_t>(roots.size()), apart = total / n;
  for (std::int64_t q = 0; q < p; ++q) transform(x + q * stride, stride * p, m, roots, y + q * m);
  std::vector<Complex> part(static_cast<std::size_t>(p));
  for (std::int64_t k = 0; k < m; ++k) {
    for (std::int64_t q = 0; q < p; ++q) part[static_cast<std::size_t>(q)] = y[q * m + k];
    for (std::int64_t r = 0; r < p; ++r) {
      Complex sum = part[0];
      for (std::int64_t q = 1; q < p; ++q)
        sum += part[static_cast<std::size_t>(q)] * roots[static_cast<std::size_t>(q * (k + r * m) % n * apart)];
      y[r * m + k] = sum;
    }
  }
}

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

}  // namespace

std::vector<std::int64_t> fft_radices(std::int64_t n) {
  std::vector<std::int64_t> radices;
  for (std::int64_t p : {13, 11, 7, 5, 3})
    for (; n % p == 0; n /= p) radices.push_back(p);
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  if (n != 1) return {};
  if (twos % 3 == 1 && twos > 1) radices.insert(radices.end(), {4, 4}), twos -= 4;
  for (; twos >= 3; twos -= 3) radices.push_back(8);
  if (twos > 0) radices.push_back(twos == 2 ? 4 : 2);
  return radices;
}

double fft_cost(std::int64_t n) {
  if (n == 1) return 0;
  const std::vector<std::int64_t> radices = fft_radices(n);
  if (radices.empty()) {
    const std::int64_t m = fft_fast_length(2 * n - 1);
    return 2 * fft_cost(m) + static_cast<double>(m + 2 * n);
  }
  double cost = 0;
  for (std::int64_t radix : radices) cost += radix_cost(radix) * static_cast<double>(n);
  return cost;
}

std::int64_t fft_fast_length(std::int64_t n) {
  std::int64_t best = 1;
  while (best < n) best *= 2;
  double cost = fft_cost(best);
  const auto consider = [&](std::int64_t odd) {
    while (odd < n) odd *= 2;
    const double c = fft_cost(odd);
    if (c < cost) best = odd, cost = c;
  };
  for (std::int64_t a = 1; a < 2 * n; a *= 3)
    for (std::int64_t b = a; b < 2 * n; b *= 5)
      for (std::int64_t c = b; c < 2 * n; c *= 7)
        for (std::int64_t factor : {1, 11, 13})
          if (c * factor < 2 * n) consider(c * factor);
  return best;
}

template <class T>
FftPlan<T>::FftPlan(std::int64_t n) {
  view_.n = n;
  if (n > 1 && fft_radices(n).empty()) make_chirp();
  else make_passes();
}

template <class T>
void FftPlan<T>::make_passes() {
  std::int64_t groups = 1;
  for (std::int64_t radix : fft_radices(view_.n)) {
    const std::int64_t length = view_.n / groups, stride = length / radix;
    std::vector<Complex> twiddles, roots;
    for (std::int64_t i = 0; i < stride; ++i)
      for (std::int64_t j = 1; j < radix; ++j) twiddles.push_back(unit_root(i * j, length));
    for (std::int64_t j = 0; j < radix; ++j) roots.push_back(std::conj(unit_root(j, radix)));
    tables_.push_back(interleaved<T>(twiddles));
    const T* w = tables_.back().data();
    tables_.push_back(interleaved<T>(roots));
    passes_.push_back({radix, groups, stride, w, tables_.back().data()});
    groups *= radix;
  }
  view_.passes = static_cast<std::int64_t>(passes_.size());
  view_.pass = passes_.data();
}

template <class T>
void FftPlan<T>::make_chirp() {
  const std::int64_t n = view_.n, m = fft_fast_length(2 * n - 1);
  std::vector<Complex> b, folded(static_cast<std::size_t>(m)), roots, spectrum(static_cast<std::size_t>(m));
  for (std::int64_t k = 0; k < n; ++k) {
    b.push_back(std::conj(unit_root(k * k % (2 * n), 2 * n)));
    folded[static_cast<std::size_t>(k)] = folded[static_cast<std::size_t>((m - k) % m)] = b.back();
  }
  for (std::int64_t k = 0; k < m; ++k) roots.push_back(unit_root(k, m));
  transform(folded.data(), 1, m, roots, spectrum.data());
  for (Complex& s : spectrum) s /= static_cast<long double>(m);
  tables_.push_back(interleaved<T>(b));
  view_.chirp = tables_.back().data();
  tables_.push_back(interleaved<T>(spectrum));
  view_.chirp_spectrum = tables_.back().data();
  convolution_ = std::make_unique<const FftPlan>(m);
  view_.convolution = &convolution_->view();
}

template <class T>
std::size_t FftPlan<T>::bytes() const noexcept {
  std::size_t sum = sizeof *this + (convolution_ ? convolution_->bytes() : 0);
  for (const std::vector<T>& table : tables_) sum += table.size() * sizeof(T);
  return sum;
}

namespace {

// The latest plans, the last used first.
template <class T>
class PlanCache {
 public:
  using Plan = std::shared_ptr<const FftPlan<T>>;

  Plan find(std::int64_t n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(), [n](const Plan& p) { return p->length() == n; });
    if (found == plans_.end()) return nullptr;
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }

  void insert(const Plan& plan) {
    const std::lock_guard<std::mutex> lock(mutex_);
    plans_.push_front(plan);
    bytes_ += plan->bytes();
    while (bytes_ > cache_bytes) {
      bytes_ -= plans_.back()->bytes();
      plans_.pop_back();
    }
  }

 private:
  std::mutex mutex_;
  std::list<Plan> plans_;
  std::size_t bytes_ = 0;
};

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(const char* op, std::int64_t n) {
  if (n > longest)
    fail(op, "a transform of " + std::to_string(n) + " elements, the longest is " + std::to_string(longest));
  auto& cache = Context::current().slot<PlanCache<T>>();
  auto plan = cache.find(n);
  if (plan) return plan;
  plan = std::make_shared<const FftPlan<T>>(n);
  cache.insert(plan);
  return plan;
}

template class FftPlan<float>;
template class FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(const char*, std::int64_t);

}  // namespace weft
