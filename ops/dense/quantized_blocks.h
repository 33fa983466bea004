// What the drivers of products with 8-bit and with 4-bit weights share: tasks, and the epilogue of a tile.
#pragma once
#include <algorithm>
#include <cstdint>

#include "dense/kernels/gemm.h"
#include "dense/packing.h"
#include "dense/quantized_product.h"
#include "weft/context.h"

namespace weft::detail {

// The maximum number of rows of x that are quantized with two digits. Up to this number, reading W takes all of the
// time, so a second digit costs nothing. (With a third digit, computing 8 rows would take longer than reading W.)
// Larger: computing takes longer than reading. Smaller: more rows have the error of one digit. bench: weft-bench
// --benchmark_filter=linear-int8-cold
inline constexpr std::int64_t few_digit_rows = 8;

// How a row of x is quantized: the number of digits, and the largest whole number.
struct QuantizedRows {
  int digits;
  float limit;
  explicit QuantizedRows(std::int64_t m)
      : digits(m > few_digit_rows ? 1 : 2), limit(digits == 1 ? 127.0f : 127.0f * 256) {}
};

// Calls f(i) for each of the m rows of x, of k elements.
template <class F>
void for_quantized_rows(std::int64_t m, std::int64_t k, const F& f) {
  const std::int64_t grain = m <= few_digit_rows ? m : std::max<std::int64_t>(1, task_work / 16 / (k + 1));
  Context::current().parallel_for(m, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The number of rows of digits and the number of bytes of panels in a task. Larger: together they leave L2. Smaller:
// panels or digits are read more often. bench: weft-bench --benchmark_filter=linear-int8
inline constexpr std::int64_t block_digit_rows = 128, block_bytes = 1 << 18;
// The number of multiply-adds per task. Larger: threads are idle at the end. Smaller: more overhead per task.
// bench: weft-bench --benchmark_filter=linear-int8
inline constexpr std::int64_t block_work = 4 * task_work;

// The number of rows of x in a block.
inline std::int64_t block_rows(int digits) { return block_digit_rows / digits; }

// The panels of a weight: their number, and the bytes and the elements of W in each of them.
struct PanelCount {
  std::int64_t count, bytes, elements;
};

// Splits y into blocks of rows and panels, and calls f(first row, last row + 1, first panel, last panel + 1, scratch
// memory of scratch_bytes) for each block. m and panels.count are at least 1.
template <class F>
void for_quantized_blocks(std::int64_t m, int digits, const PanelCount& panels, std::size_t scratch_bytes, const F& f) {
  const std::int64_t height = block_rows(digits), down = (m - 1) / height + 1;
  const std::int64_t work = std::max<std::int64_t>(1, std::min(m * digits, block_digit_rows) * panels.elements);
  const std::int64_t width =
      std::clamp<std::int64_t>(block_bytes / std::max<std::int64_t>(1, panels.bytes), 1, panels.count);
  const std::int64_t across = (panels.count - 1) / width + 1;
  const std::int64_t grain = std::max<std::int64_t>(1, block_work / (work * width));
  Context::current().parallel_for(down * across, grain, scratch_bytes,
                                  [&](std::int64_t begin, std::int64_t end, void* scratch) {
                                    for (std::int64_t task = begin; task < end; ++task) {
                                      const std::int64_t i = task / across * height, j = task % across * width;
                                      f(i, std::min(m, i + height), j, std::min(panels.count, j + width), scratch);
                                    }
                                  });
}

// Prefetches the memory that a tile reads or writes in its rows after it has computed their sums.
template <class T>
void prefetch_rows(const T* first, std::int64_t row, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t line = 64 / std::int64_t{sizeof(T)};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; j += line) __builtin_prefetch(first + i * row + j);
}

// Computes a tile of y whose first element is (i, j), with linear's epilogue. compute(y, y_row) writes the products to
// y in rows at distances of y_row. `nr` is the number of columns of a panel.
template <class T, class F>
void with_epilogue(const QuantizedProblem<T>& g, std::int64_t i, std::int64_t j, std::int64_t rows,
                   std::int64_t columns, std::int64_t nr, const F& compute) {
  T* y = g.y + i * g.n + j;
  GemmEpilogue<T> e = g.epilogue;
  if (e.bias) e.bias += j;
  if (e.gate) e.gate += i * e.gate_row + j;
  if (e.residual) e.residual += i * e.residual_row + j;
  prefetch_rows(y, g.n, rows, columns);
  if (e.gate) prefetch_rows(e.gate, e.gate_row, rows, columns);
  if (e.residual) prefetch_rows(e.residual, e.residual_row, rows, columns);
  alignas(64) float tile[largest_tile];
  float* sums = tile;
  std::int64_t row = nr;
  if constexpr (std::is_same_v<T, float>) {
    sums = y;
    row = g.n;
  }
  compute(sums, row);
  if (std::is_same_v<T, float> && !has_epilogue(g.epilogue)) return;
  kernels<GemmKernels<T>>().epilogue(e, rows, columns, sums, row, y, g.n, false);
}

}  // namespace weft::detail
