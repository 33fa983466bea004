#include "spectral/fft_driver.h"

#include <algorithm>

#include "base/common.h"
#include "spectral/fft_derived_plans.h"
#include "spectral/kernels/fft.h"
#include "spectral/kernels/fft_four_step.h"
#include "spectral/kernels/fft_real.h"
#include "weft/context.h"

namespace weft::detail {
namespace {

using std::int64_t;

// The number of elements of contiguous columns per task. Larger: threads are idle at the end. Smaller: more overhead
// per task.
// bench: weft-bench --benchmark_filter='[cr]2c/'
constexpr int64_t sequence_elements = 1 << 13;

// The minimum number of bytes of a result that is written with stores that bypass the caches. The last-level cache
// would not keep such a result until it is read, and an ordinary store first reads a cache line that is not in the
// cache. Larger: more stores read lines first. Smaller: results that the cache would have kept are read from memory.
// bench: weft-bench --benchmark_filter='c2c-columns'
constexpr int64_t streamed_bytes = int64_t{32} << 20;

// The columns of x or y, in tiles of lanes.
template <class T>
struct Side {
  T* data;
  Columns columns;
  bool is_complex;

  FftColumns<T> tile(int64_t first, int64_t count, int64_t* offset) const {
    columns.offsets(first, count, offset);
    return {data, columns.step(), offset, count};
  }
};

// Views a real column as complex: element 2j is the real part of element j, and element 2j + 1 is its imaginary part.
template <class T>
FftColumns<T> every_second(const FftColumns<T>& x) {
  return {x.data, 2 * x.step, x.offset, x.count};
}
template <class T>
FftColumns<T> moved(const FftColumns<T>& x, int64_t by) {
  return {x.data + by, x.step, x.offset, x.count};
}

template <class T>
struct Driver {
  const AxisTransform& t;
  Side<const T> x;
  Side<T> y;
  const FftKernels<T>& kernel = kernels<FftKernels<T>>();
  const RealFftKernels<T>& real_kernel = kernels<RealFftKernels<T>>();
  const FourStepKernels<T>& four_step = kernels<FourStepKernels<T>>();

  T factor() const { return static_cast<T>(t.factor); }

  // Calls f(columns of x, columns of y, first element of the next columns of x, work buffer) for all tiles.
  template <class F>
  void for_tiles(int64_t rows, F f) const {
    const int64_t lanes = kernel.lanes, total = x.columns.count(), tiles = (total - 1) / lanes + 1;
    const int64_t grain = std::max<int64_t>(1, task_elements / (t.n * lanes));
    const auto bytes = static_cast<std::size_t>(rows * 2 * lanes) * sizeof(T);
    Context::current().parallel_for(tiles, grain, bytes, [&](int64_t begin, int64_t end, void* work) {
      for (int64_t tile = begin; tile < end; ++tile) {
        int64_t from[max_lanes], to[max_lanes], after[1];
        const int64_t first = tile * lanes, count = std::min(lanes, total - first);
        const auto next = x.tile(std::min(first + lanes, total - 1), 1, after);
        f(x.tile(first, count, from), y.tile(first, count, to), next.data + after[0], static_cast<T*>(work));
      }
    });
  }

  // Transforms n complex elements to n complex elements.
  void whole(const FftPlan<T>& plan) const {
    const bool streamed = 2 * y.columns.count() * t.n * static_cast<int64_t>(sizeof(T)) >= streamed_bytes;
    for_tiles(plan.rows(), [&](const auto& from, const auto& to, const T* next, T* work) {
      kernel.complex(plan.view(), from, t.inverse, factor(), to, next, streamed, work);
    });
  }

  // Transforms n real elements to bins 0 … n/2. n is even.
  void real_to_half(const RealFftPlan<T>& plan) const {
    const FftView<T>& half = *plan.view().half;
    const T weight = static_cast<T>(t.wanted_weight);
    for_tiles(plan.rows(), [&](const auto& from, const auto& to, const T* next, T* work) {
      if (real_kernel.columns(plan.view(), from, weight, factor(), to, next, work)) return;
      const auto even = every_second(from);
      if (from.step == 1) {
        kernel.gather_complex(half.n, even, work);
      } else {
        kernel.gather(half.n, even, work);
        kernel.gather(half.n, moved(even, from.step), work + kernel.lanes);
      }
      kernel.forward(half, work);
      real_kernel.unpack(plan.view(), weight, work);
      kernel.scatter_complex(half.n + 1, plan.view().row_of_bin, work, false, factor(), to);
    });
  }

  // Transforms bins 0 … n/2 to n real elements by the inverse transform. n is even.
  void half_to_real(const RealFftPlan<T>& plan) const {
    const FftView<T>& half = *plan.view().half;
    for_tiles(plan.rows(), [&](const auto& from, const auto& to, const T*, T* work) {
      kernel.gather_complex(half.n + 1, from, work);
      real_kernel.pack(plan.view(), static_cast<T>(t.given_weight), work);
      kernel.forward(half, work);
      const auto even = every_second(to);
      if (to.step == 1) {
        kernel.scatter_complex(half.n, half.row_of_bin, work, true, factor(), even);
      } else {
        kernel.scatter(half.n, half.row_of_bin, work, true, factor(), even);
        kernel.scatter(half.n, half.row_of_bin, work + kernel.lanes, true, factor(), moved(even, to.step));
      }
    });
  }

  // Handles all other cases with complex elements. Missing elements and imaginary parts count as 0.
  void general(const FftPlan<T>& plan) const {
    const int64_t lanes = kernel.lanes, half = t.n / 2 + 1;
    const int64_t given = t.given_weight != 0 ? half : t.n, wanted = t.wanted_weight != 0 ? half : t.n;
    const std::int32_t* row = plan.view().row_of_bin;
    for_tiles(plan.rows(), [&](const auto& from, const auto& to, const T*, T* work) {
      if (x.is_complex) {
        kernel.gather_complex(given, from, work);
      } else {
        kernel.gather(given, from, work);
        for (int64_t k = 0; k < given; ++k) std::fill_n(work + (2 * k + 1) * lanes, lanes, T(0));
      }
      std::fill(work + given * 2 * lanes, work + t.n * 2 * lanes, T(0));
      if (t.given_weight != 0) real_kernel.weigh(t.n, nullptr, static_cast<T>(t.given_weight), work);
      kernel.forward(plan.view(), work);
      if (t.wanted_weight != 0) real_kernel.weigh(t.n, row, static_cast<T>(t.wanted_weight), work);
      if (y.is_complex) kernel.scatter_complex(wanted, row, work, t.inverse, factor(), to);
      else kernel.scatter(wanted, row, work, t.inverse, factor(), to);
    });
  }

  // For contiguous columns, calls f(columns of x, columns of y, middle buffer, work buffer) for some columns at a time.
  template <class F>
  void for_sequences(const FourStepPlan<T>& plan, F f) const {
    const int64_t middle = plan.middle(), work = plan.rows() * 2 * kernel.lanes;
    const int64_t grain = std::max<int64_t>(1, sequence_elements / plan.length());
    const auto bytes = static_cast<std::size_t>(middle + work) * sizeof(T);
    Context::current().parallel_for(x.columns.count(), grain, bytes, [&](int64_t begin, int64_t end, void* scratch) {
      T* buffer = static_cast<T*>(scratch);
      for (int64_t first = begin; first < end; first += max_lanes) {
        int64_t from[max_lanes], to[max_lanes];
        const int64_t count = std::min(max_lanes, end - first);
        f(x.tile(first, count, from), y.tile(first, count, to), buffer, buffer + middle);
      }
    });
  }

  void whole_in_four_steps(const FourStepPlan<T>& plan) const {
    for_sequences(plan, [&](const auto& from, const auto& to, T* middle, T* work) {
      four_step.transform(plan.view(), from, t.inverse, factor(), to, middle, work);
    });
  }

  void real_to_half_in_four_steps(const RealFourStepPlan<T>& plan) const {
    for_sequences(plan.half(), [&](const auto& from, const auto& to, T* middle, T* work) {
      four_step.transform(plan.half().view(), every_second(from), false, factor(), to, middle, work);
      for (int64_t c = 0; c < to.count; ++c)
        four_step.unpack(t.n / 2, plan.twiddles(), static_cast<T>(t.wanted_weight), to.data + to.offset[c]);
    });
  }

  // Whether rows of m complex elements are transformed side by side in the lanes even if four steps are possible. Four
  // steps cost more per element, but a single row fills the lanes. Side by side, there must be enough rows to fill the
  // lanes of every instruction set. Larger maximum of m: `lanes` rows leave L1, and this happens earlier with vectors
  // of 64 bytes, which hold more rows. Smaller: four steps are used where they cost more.
  // bench: weft-bench --benchmark_filter='[cr]2c/64x(64|128|256|512)'
  bool side_by_side(int64_t m) const {
    const int64_t vector = kernel.lanes * static_cast<int64_t>(sizeof(T));
    return x.columns.count() >= max_lanes && m <= (vector < 64 ? longest_side_by_side : 128);
  }

  void run(const char* op) const {
    const bool complex_rows = x.columns.step() == 2 && y.columns.step() == 2;
    if (x.is_complex && y.is_complex && t.given_weight == 0 && t.wanted_weight == 0) {
      if (complex_rows && four_step_fits(t.n) && !side_by_side(t.n)) whole_in_four_steps(*four_step_plan<T>(op, t.n));
      else whole(*fft_plan<T>(op, t.n));
    } else if (t.n % 2 == 0 && t.wanted_weight != 0 && !x.is_complex) {
      if (real_rows_in_four_steps(t.n, x.columns.step(), y.columns.step()) && !side_by_side(t.n / 2))
        real_to_half_in_four_steps(*real_four_step_plan<T>(op, t.n));
      else real_to_half(*real_fft_plan<T>(op, t.n));
    } else if (t.n % 2 == 0 && t.given_weight != 0 && !y.is_complex) half_to_real(*real_fft_plan<T>(op, t.n));
    else general(*fft_plan<T>(op, t.n));
  }
};

}  // namespace

Columns::Columns(const Tensor& x, std::size_t axis) : axis_(axis), count_(1) {
  const int64_t parts = is_complex(x.dtype()) ? 2 : 1;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if (i == axis) continue;
    shape_.push_back(x.shape()[i]);
    strides_.push_back(x.strides()[i] * parts);
    count_ *= x.shape()[i];
  }
  step_ = x.strides()[axis] * parts;
}

int64_t Columns::index_along(int64_t column, std::size_t axis) const noexcept {
  const std::size_t at = axis < axis_ ? axis : axis - 1;
  for (std::size_t i = shape_.size() - 1; i > at; --i) column /= shape_[i];
  return column % shape_[at];
}

void Columns::offsets(int64_t first, int64_t count, int64_t* out) const noexcept {
  if (shape_.size() == 1) {  // avoids divisions, which would slow down short rows
    for (int64_t c = 0; c < count; ++c) out[c] = (first + c) * strides_[0];
    return;
  }
  for (int64_t c = 0; c < count;) {
    int64_t rest = first + c, offset = 0;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      offset += rest % shape_[i] * strides_[i];
      rest /= shape_[i];
    }
    const int64_t along = shape_.empty() ? 1 : shape_.back() - (first + c) % shape_.back();  // up to the end of the row
    const int64_t step = shape_.empty() ? 0 : strides_.back(), end = std::min(count, c + along);
    for (; c < end; ++c, offset += step) out[c] = offset;
  }
}

bool real_rows_in_four_steps(int64_t n, int64_t x_step, int64_t y_step) {
  return n % 2 == 0 && x_step == 1 && y_step == 2 && four_step_fits(n / 2);
}

Tensor transform_axis(const char* op, const Tensor& x, const AxisTransform& t) {
  Shape shape = x.shape();
  shape[t.axis] = t.wanted_weight != 0 ? t.n / 2 + 1 : t.n;
  Tensor y = Tensor::empty(shape, t.real_out ? real_of(x.dtype()) : complex_of(x.dtype()));
  if (y.numel() == 0) return y;
  with_real(op, real_of(x.dtype()), [&](auto* type) {
    using T = element_of<decltype(type)>;
    Driver<T>{t,
              {static_cast<const T*>(x.raw()), Columns(x, t.axis), is_complex(x.dtype())},
              {static_cast<T*>(y.mutable_raw()), Columns(y, t.axis), !t.real_out}}
        .run(op);
  });
  return y;
}

}  // namespace weft::detail
