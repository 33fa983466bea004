#include "spectral/fft_derived_plans.h"

#include "spectral/fft_roots.h"
#include "spectral/plan_cache.h"

namespace weft::detail {

template <class T>
RingPlan<T>::RingPlan(std::int64_t n) : n_(n), plan_(fft_fast_length(n)) {
  const std::int64_t m = rows();
  const UnitRoots root(4 * m);
  std::vector<Complex> twist, untwist;
  for (std::int64_t j = 0; j < m; ++j) {
    untwist.push_back(root(j) / static_cast<long double>(m));
    twist.push_back(std::conj(root(j)));
  }
  twist_ = interleaved<T>(twist);
  untwist_ = interleaved<T>(untwist);
  view_ = {&plan_.view(), twist_.data(), untwist_.data()};
}

template <class T>
std::size_t RingPlan<T>::bytes() const noexcept {
  return sizeof *this + plan_.bytes() + 2 * twist_.size() * sizeof(T);
}

template <class T>
RealFftPlan<T>::RealFftPlan(std::int64_t n) : half_(n / 2) {
  const FftView<T>& half = half_.view();
  const UnitRoots root(n);
  std::vector<Complex> twiddles;
  for (std::int64_t k = 0; 2 * k <= half.n; ++k) twiddles.push_back(root(k));
  twiddles_ = interleaved<T>(twiddles);
  row_of_bin_.assign(half.row_of_bin, half.row_of_bin + half.n);
  row_of_bin_.push_back(static_cast<std::int32_t>(half.n));
  view_ = {&half, twiddles_.data(), row_of_bin_.data()};
}

template <class T>
std::size_t RealFftPlan<T>::bytes() const noexcept {
  return sizeof *this + half_.bytes() + twiddles_.size() * sizeof(T) + row_of_bin_.size() * sizeof(std::int32_t);
}

namespace {

// The minimum length that is split into two factors near the square root. Larger: the first factor is so long that its
// columns leave L1. Smaller: shorter lengths lose their short second factor, whose transforms take only one pass.
// bench: weft-bench --benchmark_filter='c2c/64x(4096|8192|16384)'
constexpr std::int64_t shortest_balanced = 8192;
// The number of elements of short sequences that are transformed together. Larger: fewer of them stay in L1. Smaller:
// fewer sequences share the calls and the twiddles.
// bench: weft-bench --benchmark_filter='c2c/64x(64|128|256|512)'
constexpr std::int64_t elements_together = 1024;

// Returns the factor n1 of n = n1 n2. For long sequences it is the factor <= sqrt(n) that is nearest to sqrt(n), and
// both factors are multiples of max_lanes. For other sequences n2 is max_lanes, so that the second step is one pass.
std::int64_t first_factor(std::int64_t n) {
  if (n < shortest_balanced) return n / max_lanes;
  std::int64_t best = 0;
  for (std::int64_t a = max_lanes; a * a <= n; a += max_lanes)
    if (n % (a * max_lanes) == 0) best = a;
  return best;
}

}  // namespace

bool four_step_fits(std::int64_t n) {
  return n == 64 || n == 128 || (n % (max_lanes * max_lanes) == 0 && n > 0 && is_smooth(n));
}

template <class T>
std::int64_t FourStepPlan<T>::middle() const noexcept {
  return 2 * (length() * view_.together + max_lanes * second_.length());
}

template <class T>
FourStepPlan<T>::FourStepPlan(std::int64_t n) : first_(first_factor(n)), second_(n / first_factor(n)) {
  const std::int64_t n1 = first_.length(), n2 = second_.length();
  const UnitRoots unit(n);
  twiddles_.resize(static_cast<std::size_t>(2 * n));
  for (std::int64_t k = 0; k < n1; ++k)
    for (std::int64_t j = 0; j < n2; ++j) {
      const Complex root = unit(j * k % n);
      twiddles_[static_cast<std::size_t>(k * 2 * n2 + j)] = static_cast<T>(root.real());
      twiddles_[static_cast<std::size_t>((k * 2 + 1) * n2 + j)] = static_cast<T>(root.imag());
    }
  const std::int64_t together = first_.view().passes == 1 ? std::max<std::int64_t>(1, elements_together / n) : 1;
  view_ = {&first_.view(), &second_.view(), twiddles_.data(), together};
}

template <class T>
std::size_t FourStepPlan<T>::bytes() const noexcept {
  return sizeof *this + first_.bytes() + second_.bytes() + twiddles_.size() * sizeof(T);
}

template <class T>
RealFourStepPlan<T>::RealFourStepPlan(std::int64_t n) : half_(n / 2) {
  const UnitRoots root(n);
  std::vector<Complex> twiddles;
  for (std::int64_t k = 0; 4 * k <= n; ++k) twiddles.push_back(root(k));
  twiddles_ = interleaved<T>(twiddles);
}

template <class T>
std::shared_ptr<const FourStepPlan<T>> four_step_plan(const char* op, std::int64_t n) {
  return cached_plan<FourStepPlan<T>>(op, n);
}
template <class T>
std::shared_ptr<const RealFourStepPlan<T>> real_four_step_plan(const char* op, std::int64_t n) {
  return cached_plan<RealFourStepPlan<T>>(op, n);
}

template <class T>
std::shared_ptr<const RingPlan<T>> ring_plan(const char* op, std::int64_t n) {
  return cached_plan<RingPlan<T>>(op, n);
}
template <class T>
std::shared_ptr<const RealFftPlan<T>> real_fft_plan(const char* op, std::int64_t n) {
  return cached_plan<RealFftPlan<T>>(op, n);
}

template class RingPlan<float>;
template class RingPlan<double>;
template class FourStepPlan<float>;
template class FourStepPlan<double>;
template class RealFourStepPlan<float>;
template class RealFourStepPlan<double>;
template class RealFftPlan<float>;
template class RealFftPlan<double>;
template std::shared_ptr<const RingPlan<float>> ring_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const RingPlan<double>> ring_plan<double>(const char*, std::int64_t);
template std::shared_ptr<const FourStepPlan<float>> four_step_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const FourStepPlan<double>> four_step_plan<double>(const char*, std::int64_t);
template std::shared_ptr<const RealFourStepPlan<float>> real_four_step_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const RealFourStepPlan<double>> real_four_step_plan<double>(const char*, std::int64_t);
template std::shared_ptr<const RealFftPlan<float>> real_fft_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const RealFftPlan<double>> real_fft_plan<double>(const char*, std::int64_t);

}  // namespace weft::detail
