// Views a tensor as columns along one axis, and transforms all columns.
#pragma once
#include <cstdint>
#include <vector>

#include "spectral/kernels/fft.h"
#include "weft/tensor.h"

namespace weft::detail {

// Columns are numbered over the other axes in row-major order. Steps and offsets count real numbers. A complex element
// counts as two.
class Columns {
 public:
  Columns(const Tensor& x, std::size_t axis);

  std::int64_t count() const noexcept { return count_; }
  std::int64_t step() const noexcept { return step_; }
  // Returns a column's index along another axis of the tensor.
  std::int64_t index_along(std::int64_t column, std::size_t axis) const noexcept;
  // Writes the offsets of columns first … first + count - 1 to `out`.
  void offsets(std::int64_t first, std::int64_t count, std::int64_t* out) const noexcept;

 private:
  std::size_t axis_;
  Shape shape_;  // without the axis
  Strides strides_;
  std::int64_t count_, step_;
};

// A transform along one axis, times `factor`. A half spectrum consists of the bins 0 … n/2. It is the input of inverse
// transforms with real results, and on request the result of other transforms. The imaginary parts of bin 0 and, for
// even n, of bin n/2 are 0. The bins between them are multiplied by a weight.
struct AxisTransform {
  std::int64_t n;
  std::size_t axis;
  bool inverse;
  double factor;
  double given_weight = 0;   // weight of x's bins if x is a half spectrum, else 0
  double wanted_weight = 0;  // weight of the result's bins if it is a half spectrum, else 0
  bool real_out = false;
};

// The maximum length of complex rows that are transformed side by side in the lanes although four steps are possible.
// This happens only if there are enough rows.
inline constexpr std::int64_t longest_side_by_side = 256;

// Whether a RealFourStepPlan transforms n real elements of a column to a half spectrum, for these steps of the columns.
bool real_rows_in_four_steps(std::int64_t n, std::int64_t x_step, std::int64_t y_step);

// x is real or complex, with any strides. The transform is not recorded.
Tensor transform_axis(const char* op, const Tensor& x, const AxisTransform& t);

}  // namespace weft::detail
