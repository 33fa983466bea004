// Plans of transforms that are built from complex transforms: transforms of real sequences, products in the ring of
// polynomials, and transforms in four steps.
#pragma once
#include <algorithm>

#include "spectral/fft_plan.h"
#include "spectral/kernels/fft_four_step.h"
#include "spectral/kernels/fft_real.h"
#include "spectral/kernels/toeplitz_ring.h"

namespace weft::detail {

// The ring of polynomials modulo X^m - i (kernels/toeplitz_ring.h) for products of n elements, with m =
// fft_fast_length(n). A plan is immutable.
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

// Transforms of n real elements by complex transforms of n/2 elements (kernels/fft_real.h). n must be even. A plan is
// immutable.
template <class T>
class RealFftPlan {
 public:
  explicit RealFftPlan(std::int64_t n);
  RealFftPlan(const RealFftPlan&) = delete;
  RealFftPlan& operator=(const RealFftPlan&) = delete;

  std::int64_t length() const noexcept { return 2 * half_.length(); }
  std::int64_t rows() const noexcept { return std::max(half_.rows(), half_.length() + 1); }  // rows of a work buffer
  const RealFftView<T>& view() const noexcept { return view_; }
  std::size_t bytes() const noexcept;

 private:
  FftPlan<T> half_;
  std::vector<T> twiddles_;
  std::vector<std::int32_t> row_of_bin_;
  RealFftView<T> view_;
};

// Transforms of contiguous sequences in four steps (kernels/fft_four_step.h). four_step_fits(n) must be true. A plan is
// immutable.
template <class T>
class FourStepPlan {
 public:
  explicit FourStepPlan(std::int64_t n);
  FourStepPlan(const FourStepPlan&) = delete;
  FourStepPlan& operator=(const FourStepPlan&) = delete;

  std::int64_t length() const noexcept { return first_.length() * second_.length(); }
  std::int64_t rows() const noexcept { return std::max(first_.length(), second_.length()); }  // rows of a work buffer
  // The number of elements of the middle buffer.
  std::int64_t middle() const noexcept;
  const FourStepView<T>& view() const noexcept { return view_; }
  std::size_t bytes() const noexcept;

 private:
  FftPlan<T> first_, second_;
  std::vector<T> twiddles_;
  FourStepView<T> view_;
};

// Transforms of n real elements in four steps, computed with n/2 complex elements. n must be even, and
// four_step_fits(n/2) must be true.
template <class T>
class RealFourStepPlan {
 public:
  explicit RealFourStepPlan(std::int64_t n);
  RealFourStepPlan(const RealFourStepPlan&) = delete;
  RealFourStepPlan& operator=(const RealFourStepPlan&) = delete;

  std::int64_t length() const noexcept { return 2 * half_.length(); }
  const FourStepPlan<T>& half() const noexcept { return half_; }
  const T* twiddles() const noexcept { return twiddles_.data(); }  // exp(-2πi k/n), k <= n/4
  std::size_t bytes() const noexcept { return half_.bytes() + twiddles_.size() * sizeof(T); }

 private:
  FourStepPlan<T> half_;
  std::vector<T> twiddles_;
};

// Whether four steps are faster for n and n is a product of two factors that the kernels support.
bool four_step_fits(std::int64_t n);

// These functions return plans from the current Context's cache, which keeps the most recently used plans. They throw
// an Error if a plan is too long for any machine.
template <class T>
std::shared_ptr<const RingPlan<T>> ring_plan(const char* op, std::int64_t n);
template <class T>
std::shared_ptr<const FourStepPlan<T>> four_step_plan(const char* op, std::int64_t n);
template <class T>
std::shared_ptr<const RealFourStepPlan<T>> real_four_step_plan(const char* op, std::int64_t n);
template <class T>
std::shared_ptr<const RealFftPlan<T>> real_fft_plan(const char* op, std::int64_t n);

}  // namespace weft::detail
