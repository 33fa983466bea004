// Plans of transforms of real sequences, made of complex ones.
#pragma once
#include <algorithm>

#include "fft_plan.h"
#include "kernels/convolution.h"
#include "kernels/fft_real.h"

namespace weft {

// The ring of polynomials modulo X^m - i (kernels/convolution.h) for products of n elements, m = fft_fast_length(n).
// Immutable.
template <class T>
class RingPlan {
 public:
  explicit RingPlan(std::int64_t n);
  RingPlan(const RingPlan&) = delete;
  RingPlan& operator=(const RingPlan&) = delete;

  std::int64_t length() const noexcept { return n_; }
  std::int64_t rows() const noexcept { return plan_.length(); }  // m
  const RingView<T>& view() const noexcept { return view_; }
  std::size_t bytes() const noexcept;

 private:
  std::int64_t n_;
  FftPlan<T> plan_;
  std::vector<T> twist_, untwist_;
  RingView<T> view_;
};

// Transforms of n real elements by complex ones of n/2 (kernels/fft_real.h). Immutable. n must be even.
template <class T>
class RealFftPlan {
 public:
  explicit RealFftPlan(std::int64_t n);
  RealFftPlan(const RealFftPlan&) = delete;
  RealFftPlan& operator=(const RealFftPlan&) = delete;

  std::int64_t length() const noexcept { return 2 * half_.length(); }
  std::int64_t rows() const noexcept { return std::max(half_.rows(), half_.length() + 1); }  // of a work buffer
  const RealFftView<T>& view() const noexcept { return view_; }
  std::size_t bytes() const noexcept;

 private:
  FftPlan<T> half_;
  std::vector<T> twiddles_;
  std::vector<std::int32_t> row_of_bin_;
  RealFftView<T> view_;
};

// From the current Context's cache, which keeps the latest ones. Error if they are too long for any machine.
template <class T>
std::shared_ptr<const RingPlan<T>> ring_plan(const char* op, std::int64_t n);
template <class T>
std::shared_ptr<const RealFftPlan<T>> real_fft_plan(const char* op, std::int64_t n);

}  // namespace weft
