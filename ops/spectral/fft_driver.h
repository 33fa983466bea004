// A tensor seen as columns along one axis, and transforms of all of them.
#pragma once
#include <cstdint>
#include <vector>

#include "spectral/kernels/fft.h"
#include "weft/tensor.h"

namespace weft::detail {

// Columns are numbered over the other axes in row-major order. Steps and offsets are in real numbers: a complex element
// has two. `first` is that of the first element of the columns.
class Columns {
 public:
  Columns(const Tensor& x, std::size_t axis);

  std::int64_t count() const noexcept { return count_; }
  std::int64_t step() const noexcept { return step_; }
  // A column's index along another axis of the tensor.
  std::int64_t index_along(std::int64_t column, std::size_t axis) const noexcept;
  // Those of columns first … first + count - 1.
  void offsets(std::int64_t first, std::int64_t count, std::int64_t* out) const noexcept;

 private:
  std::size_t axis_;
  Shape shape_;  // without the axis
  Strides strides_;
  std::int64_t count_, step_;
};

// A transform along one axis, with `factor`. Half spectra are bins 0 … n/2, given to inverse transforms with real
// results or wanted of others; they have 0 as imaginary parts of bin 0 and, n even, of bin n/2, and the bins between
// times a weight.
struct AxisTransform {
  std::int64_t n;
  std::size_t axis;
  bool inverse;
  double factor;
  double given_weight = 0;   // of x's bins, if x is half a spectrum; else 0
  double wanted_weight = 0;  // of the result's bins, if half a spectrum is wanted; else 0
  bool real_out = false;
};

// Whether n real elements of a column become half a spectrum by a RealFourStepPlan, for these steps of the columns.
// Elements of the longest complex rows that are transformed side by side in the lanes, if there are enough of them, though
// four steps would do.
inline constexpr std::int64_t longest_side_by_side = 256;
bool real_rows_in_four_steps(std::int64_t n, std::int64_t x_step, std::int64_t y_step);

// x real or complex, of any strides. Not recorded.
Tensor transform_axis(const char* op, const Tensor& x, const AxisTransform& t);

}  // namespace weft::detail
