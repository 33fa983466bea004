// Plans of Fourier transforms: what depends on the length and the scalar type alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "spectral/kernels/fft.h"

namespace weft::detail {

// Modelled time of a transform of n elements in one vector of columns, in about nanoseconds: only ratios count.
double fft_cost(std::int64_t n);
// Whether n has no prime factor above 13.
bool is_smooth(std::int64_t n);
// The radices of n's passes; none if n has a prime factor above 13, which Bluestein's algorithm takes.
std::vector<std::int64_t> fft_radices(std::int64_t n);
// The cheapest length >= n among 2^a 3^b 5^c 7^d, times 11 or 13 or neither.
std::int64_t fft_fast_length(std::int64_t n);

// Immutable. n >= 1.
template <class T>
class FftPlan {
 public:
  explicit FftPlan(std::int64_t n);
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;

  std::int64_t length() const noexcept { return view_.n; }
  // Rows of a work buffer.
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

// From the current Context's cache, which keeps the latest ones. Error if n is too long for any machine.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(const char* op, std::int64_t n);

}  // namespace weft::detail
