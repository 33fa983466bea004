// y = x Wᵀ with W in panels of 8 bits. Each row of x becomes one or two rows of digits (kernels/quantized.h) with a
// scale. A task then computes the tiles for some rows of y and some panels. The sums of a tile over all of k stay in
// registers. Within a task a panel stays in cache for all rows, so products with few rows read W only once.
#include "dense/quantized_product.h"

#include <algorithm>

#include "dense/packing.h"
#include "weft/context.h"
#include "weft/tensor.h"

namespace weft::detail {
namespace {

using std::int64_t;

// The maximum number of rows of x that are quantized with two digits. Up to this number, reading W takes all of the
// time, so a second digit costs nothing. (With a third digit, computing 8 rows would take longer than reading W.)
// Larger: computing takes longer than reading. Smaller: more rows have the error of one digit. bench: weft-bench
// --benchmark_filter=linear-int8-cold
constexpr int64_t few_rows = 8;
// The maximum number of rows of digits for which computing a tile takes less time than reading its panel from memory. W
// is then read as one stream, which the hardware prefetches. Software prefetching only bridges the end of a panel,
// near_bytes ahead. Larger near_bytes disturbs the stream. bench: weft-bench --benchmark_filter=linear-int8-cold
constexpr int64_t stream_digits = 4, near_bytes = 2048;
// The maximum number of rows of digits for which a panel is not widened. Larger: widening is not used where it would
// save time. Smaller: widening costs more than it saves. bench: weft-bench --benchmark_filter=linear-int8-cold
constexpr int64_t narrow_digits = 16;
// The number of rows of digits and the number of bytes of panels in a task. Larger: together they leave L2. Smaller:
// panels or digits are read more often. bench: weft-bench --benchmark_filter=linear-int8
constexpr int64_t task_rows = 128, task_bytes = 1 << 18;
// The number of multiply-adds per task. Larger: threads are idle at the end. Smaller: more overhead per task.
// bench: weft-bench --benchmark_filter=linear-int8
constexpr int64_t int8_task_work = 4 * task_work;

template <class T>
class Product {
 public:
  explicit Product(const QuantizedProblem<T>& problem)
      : kernel_(kernels<QuantizedKernels<T>>()),
        g_(problem),
        digits_(problem.m > few_rows ? 1 : 2),
        limit_(digits_ == 1 ? 127.0f : 127.0f * 256),
        // With this length, the rows never map to the same L1 sets.
        row_((rounded_up(problem.k, digit_step) + digit_step) / kernel_.unit),
        scratch_(Tensor::empty({problem.m * (digits_ * row_ + digits_ + 1)}, DType::f32)) {
    rows_ = static_cast<std::int32_t*>(scratch_.mutable_raw());
    excesses_ = rows_ + g_.m * digits_ * row_;
    scales_ = reinterpret_cast<float*>(excesses_ + g_.m * digits_);
  }

  void run() {
    const int64_t grain = g_.m <= few_rows ? g_.m : std::max<int64_t>(1, task_work / 16 / (g_.k + 1));
    Context::current().parallel_for(g_.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) write_row(i);
    });
    const QuantizedPanels panels = quantized_panels(kernel_, g_.n, g_.k);
    const int64_t height = task_rows / digits_, down = (g_.m - 1) / height + 1;
    const int64_t work = std::max<int64_t>(1, std::min(g_.m * digits_, task_rows) * panels.bytes);
    const int64_t width = std::clamp<int64_t>(task_bytes / std::max<int64_t>(1, panels.bytes), 1, panels.count);
    const int64_t across = (panels.count - 1) / width + 1;
    const int64_t tasks_grain = std::max<int64_t>(1, int8_task_work / (work * width));
    const bool is_wide = kernel_.widen && std::min(g_.m, height) * digits_ > narrow_digits;
    const auto wide_bytes = static_cast<std::size_t>(is_wide ? panels.wide * int64_t{sizeof(std::int32_t)} : 0);
    Context::current().parallel_for(down * across, tasks_grain, wide_bytes,
                                    [&](int64_t begin, int64_t end, void* scratch) {
                                      for (int64_t task = begin; task < end; ++task) {
                                        const int64_t i = task / across * height, j = task % across * width;
                                        block(i, std::min(g_.m, i + height), j, std::min(panels.count, j + width),
                                              panels, is_wide ? static_cast<std::int32_t*>(scratch) : nullptr);
                                      }
                                    });
  }

 private:
  void write_row(int64_t i) {
    const T* x = g_.x + i * g_.x_row;
    const float magnitude = kernel_.magnitude(g_.k, x);
    const QuantizedFactors factors(magnitude, limit_);
    scales_[i] = magnitude / limit_;
    kernel_.write_digits(g_.k, x, factors.first, factors.second, digits_, rows_ + i * digits_ * row_, row_,
                         excesses_ + i * digits_);
  }

  // Computes rows i1 … i2 of y and the columns of panels j1 … j2. Widens each panel if there is scratch memory for it
  // and enough rows to make up for the cost.
  void block(int64_t i1, int64_t i2, int64_t j1, int64_t j2, const QuantizedPanels& panels,
             std::int32_t* scratch) const {
    std::int32_t* wide = (i2 - i1) * digits_ > narrow_digits ? scratch : nullptr;
    const int64_t mr = wide ? kernel_.wide_mr : kernel_.mr;
    const int64_t tiles = ((i2 - i1) * digits_ - 1) / mr + 1, height = (i2 - i1 - 1) / tiles + 1;
    const int64_t step = kernel_.nr * kernel_.unit / tiles;  // each tile prefetches its part of the next panel
    const bool is_stream = (i2 - i1) * digits_ <= stream_digits;
    for (int64_t j = j1; j < j2; ++j) {
      const std::int8_t* panel = g_.panels + j * panels.bytes;
      if (wide) kernel_.widen(panels.units, panel, wide);
      for (int64_t i = i1; i < i2; i += height) {
        QuantizedTile t{};
        t.k = wide ? wide_units(panels.units) : panels.units;
        t.a = rows_ + i * digits_ * row_;
        t.a_row = row_;
        t.excesses = excesses_ + i * digits_;
        t.panel = panel;
        t.wide = wide;
        t.next = panel + (is_stream ? near_bytes : panels.bytes + (i - i1) / height * t.k * step);
        t.next_step = step;
        t.rows = static_cast<int>(std::min(height, i2 - i));
        t.digits = digits_;
        t.columns = std::min(panels.nr, g_.n - j * panels.nr);
        t.row_scales = scales_ + i;
        t.column_scales = g_.scales + j * panels.nr;
        write_tile(t, i, j * panels.nr);
      }
    }
  }

  void write_tile(QuantizedTile& t, int64_t i, int64_t j) const {
    T* y = g_.y + i * g_.n + j;
    alignas(64) float tile[largest_tile];
    t.y = tile;
    t.y_row = kernel_.nr;
    if constexpr (std::is_same_v<T, float>) {
      t.y = y;
      t.y_row = g_.n;
    }
    GemmEpilogue<T> e = g_.epilogue;
    if (e.bias) e.bias += j;
    if (e.gate) e.gate += i * e.gate_row + j;
    if (e.residual) e.residual += i * e.residual_row + j;
    prefetch(y, g_.n, t);
    if (e.gate) prefetch(e.gate, e.gate_row, t);
    if (e.residual) prefetch(e.residual, e.residual_row, t);
    if (t.wide)
      for (int64_t b = 0; b < t.k * t.next_step; b += 64) __builtin_prefetch(t.next + b, 0, 2);
    kernel_.tile(t);
    if (std::is_same_v<T, float> && !has_epilogue(g_.epilogue)) return;
    gemm_.epilogue(e, t.rows, t.columns, t.y, t.y_row, y, g_.n, false);
  }

  // Prefetches the memory that a tile reads or writes in its rows after it has computed their sums.
  static void prefetch(const T* first, int64_t row, const QuantizedTile& t) {
    constexpr int64_t line = 64 / int64_t{sizeof(T)};
    for (int64_t i = 0; i < t.rows; ++i)
      for (int64_t j = 0; j < t.columns; j += line) __builtin_prefetch(first + i * row + j);
  }

  const QuantizedKernels<T>& kernel_;
  const GemmKernels<T>& gemm_ = kernels<GemmKernels<T>>();
  const QuantizedProblem<T>& g_;
  int digits_;
  float limit_;
  int64_t row_;  // in units
  Tensor scratch_;
  std::int32_t *rows_, *excesses_;
  float* scales_;
};

}  // namespace

template <class T>
void quantized_product(const QuantizedProblem<T>& problem) {
  if (problem.m == 0 || problem.n == 0) return;
  Product<T>(problem).run();
}

template void quantized_product(const QuantizedProblem<float>&);
template void quantized_product(const QuantizedProblem<bfloat16>&);

}  // namespace weft::detail
