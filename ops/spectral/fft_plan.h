// Plans of Fourier transforms. A plan depends only on the length and the scalar type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "spectral/fft_length.h"
#include "spectral/kernels/fft.h"

namespace weft::detail {

// A plan for n >= 1 elements. It is immutable.
template <class T>
class FftPlan {
 public:
  explicit FftPlan(std::int64_t n);
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;

  std::int64_t length() const noexcept { return view_.n; }
  // Returns the number of rows of a work buffer.
  std::int64_t rows() const noexcept { return convolution_ ? convolution_->length() : view_.n; }
  const FftView<T>& view() const noexcept { return view_; }
  std::size_t bytes() const noexcept;

 private:
  void make_order(const std::vector<std::int64_t>& radices);
  void make_passes(const std::vector<std::int64_t>& radices);
  void make_chirp();

  FftView<T> view_{};
  std::vector<FftPass<T>> passes_;
  std::vector<std::vector<T>> tables_;
  std::vector<std::int32_t> row_of_bin_, bin_of_row_;
  std::unique_ptr<const FftPlan> convolution_;
};

// Returns a plan from the current Context's cache, which keeps the most recently used plans. Throws an Error if n is
// too long for any machine.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(const char* op, std::int64_t n);

}  // namespace weft::detail
