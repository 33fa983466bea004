// y = x Wᵀ with W in panels of 8 bits. Each row of x becomes one or two rows of digits (kernels/quantized.h) with a
// scale. A task then computes the tiles for some rows of y and some panels. The sums of a tile over all of k stay in
// registers. Within a task a panel stays in cache for all rows, so products with few rows read W only once.
#include "dense/quantized_product.h"

#include <algorithm>

#include "dense/quantized_blocks.h"
#include "weft/tensor.h"

namespace weft::detail {
namespace {

using std::int64_t;

// The maximum number of rows of digits for which computing a tile takes less time than reading its panel from memory. W
// is then read as one stream, which the hardware prefetches. Software prefetching only bridges the end of a panel.
// bench: weft-bench --benchmark_filter=linear-int8-cold
constexpr int64_t stream_digits = 4;
// The maximum number of rows of digits for which a panel is not widened. Larger: widening is not used where it would
// save time. Smaller: widening costs more than it saves. bench: weft-bench --benchmark_filter=linear-int8-cold
constexpr int64_t narrow_digits = 16;
template <class T>
class Product {
 public:
  explicit Product(const QuantizedProblem<T>& problem)
      : kernel_(kernels<QuantizedKernels<T>>()),
        g_(problem),
        quantized_(problem.m),
        digits_(quantized_.digits),
        // With this length, the rows never map to the same L1 sets.
        row_((rounded_up(problem.k, digit_step) + digit_step) / kernel_.unit),
        scratch_(Tensor::empty({problem.m * (digits_ * row_ + digits_ + 1)}, DType::f32)) {
    rows_ = static_cast<std::int32_t*>(scratch_.mutable_raw());
    excesses_ = rows_ + g_.m * digits_ * row_;
    scales_ = reinterpret_cast<float*>(excesses_ + g_.m * digits_);
  }

  void run() {
    for_quantized_rows(g_.m, g_.k, [&](int64_t i) { write_row(i); });
    const QuantizedPanels panels = quantized_panels(kernel_, g_.n, g_.k);
    const bool is_wide = kernel_.widen && std::min(g_.m * digits_, block_digit_rows) > narrow_digits;
    const auto wide_bytes = static_cast<std::size_t>(is_wide ? panels.wide * int64_t{sizeof(std::int32_t)} : 0);
    for_quantized_blocks(g_.m, digits_, {panels.count, panels.bytes, panels.bytes}, wide_bytes,
                         [&](int64_t i1, int64_t i2, int64_t j1, int64_t j2, void* scratch) {
                           block(i1, i2, j1, j2, panels, is_wide ? static_cast<std::int32_t*>(scratch) : nullptr);
                         });
  }

 private:
  void write_row(int64_t i) {
    const T* x = g_.x + i * g_.x_row;
    const float magnitude = kernel_.magnitude(g_.k, x);
    const QuantizedFactors factors(magnitude, quantized_.limit);
    scales_[i] = magnitude / quantized_.limit;
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
        t.next = panel + (is_stream ? kernel_.near_bytes : panels.bytes + (i - i1) / height * t.k * step);
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
    with_epilogue(g_, i, j, t.rows, t.columns, kernel_.nr, [&](float* y, int64_t y_row) {
      t.y = y;
      t.y_row = y_row;
      if (t.wide)
        for (int64_t b = 0; b < t.k * t.next_step; b += 64) __builtin_prefetch(t.next + b, 0, 2);
      kernel_.tile(t);
    });
  }

  const QuantizedKernels<T>& kernel_;
  const QuantizedProblem<T>& g_;
  QuantizedRows quantized_;
  int digits_;
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
