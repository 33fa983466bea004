#include "fft_derived_plans.h"

#include "fft_roots.h"
#include "plan_cache.h"

namespace weft {

template <class T>
RingPlan<T>::RingPlan(std::int64_t n) : n_(n), plan_(fft_fast_length(n)) {
  const std::int64_t m = rows();
  std::vector<Complex> twist, untwist;
  for (std::int64_t j = 0; j < m; ++j) {
    untwist.push_back(unit_root(j, 4 * m) / static_cast<long double>(m));
    twist.push_back(std::conj(unit_root(j, 4 * m)));
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
  std::vector<Complex> twiddles;
  for (std::int64_t k = 0; 2 * k <= half.n; ++k) twiddles.push_back(unit_root(k, n));
  twiddles_ = interleaved<T>(twiddles);
  row_of_bin_.assign(half.row_of_bin, half.row_of_bin + half.n);
  row_of_bin_.push_back(static_cast<std::int32_t>(half.n));
  view_ = {&half, twiddles_.data(), row_of_bin_.data()};
}

template <class T>
std::size_t RealFftPlan<T>::bytes() const noexcept {
  return sizeof *this + half_.bytes() + twiddles_.size() * sizeof(T) + row_of_bin_.size() * sizeof(std::int32_t);
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
template class RealFftPlan<float>;
template class RealFftPlan<double>;
template std::shared_ptr<const RingPlan<float>> ring_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const RingPlan<double>> ring_plan<double>(const char*, std::int64_t);
template std::shared_ptr<const RealFftPlan<float>> real_fft_plan<float>(const char*, std::int64_t);
template std::shared_ptr<const RealFftPlan<double>> real_fft_plan<double>(const char*, std::int64_t);

}  // namespace weft
