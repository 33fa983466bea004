// y = x Wᵀ with W in panels of 4 bits. Each row of x becomes one or two rows of digits with a scale, and a correction
// for each group (kernels/int4.h). A task then computes the tiles for some rows of y and some panels. Within a task a
// panel stays in cache for all rows, so products with few rows read W only once.
#include "dense/int4_weight.h"
#include "dense/quantized_blocks.h"
#include "weft/tensor.h"

namespace weft::detail {
namespace {

using std::int64_t;

// The tiles of m rows of x. A block of rows has `in_block` tiles of `height` rows. The digits of a tile are contiguous,
// so that the kernel reads them as one stream.
struct Int4Tiles {
  int64_t block, in_block, height;
  Int4Tiles(int64_t m, int digits, int64_t mr) : block(block_rows(digits)) {
    const int64_t rows = std::min(m, block);
    in_block = (rows * digits - 1) / mr + 1;
    height = (rows - 1) / in_block + 1;
  }
  int64_t tile(int64_t i) const { return i / block * in_block + i % block / height; }
  int64_t row(int64_t i) const { return i % block % height; }
};

template <class T>
class Int4Product {
 public:
  explicit Int4Product(const QuantizedProblem<T>& problem)
      : g_(problem),
        quantized_(problem.m),
        groups_(int4_groups(problem.k)),
        tiles_(problem.m, quantized_.digits, kernel_.mr),
        row_(quantized_.digits * int4_group),
        digits_(Tensor::empty({rows_of_tiles() * groups_ * row_}, DType::i8)),
        corrections_(Tensor::empty({rows_of_tiles() * groups_}, DType::f32)),
        scales_(Tensor::empty({problem.m}, DType::f32)),
        first_digits_(digits_.template mutable_data<std::int8_t>()),
        first_correction_(static_cast<std::int32_t*>(corrections_.mutable_raw())),
        row_scales_(scales_.template mutable_data<float>()) {}

  void run() {
    for_quantized_rows(g_.m, g_.k, [&](int64_t i) { write_row(i); });
    const Int4Panels panels(kernel_.nr, g_.n, g_.k);
    for_quantized_blocks(g_.m, quantized_.digits, {panels.count, panels.bytes(), panels.nr * groups_ * int4_group}, 0,
                         [&](int64_t i1, int64_t i2, int64_t j1, int64_t j2, void*) { block(i1, i2, j1, j2, panels); });
  }

 private:
  void write_row(int64_t i) {
    const T* x = g_.x + i * g_.x_row;
    const float magnitude = kernels<QuantizedKernels<T>>().magnitude(g_.k, x);
    const QuantizedFactors factors(magnitude, quantized_.limit);
    row_scales_[i] = magnitude / quantized_.limit;
    kernel_.write_digits(g_.k, x, factors.first, factors.second, quantized_.digits, digits_of(i), tiles_.height * row_,
                         corrections_of(i), tiles_.height);
  }

  int64_t rows_of_tiles() const { return (tiles_.tile(g_.m - 1) + 1) * tiles_.height; }
  // The digits of row i of x and its corrections in the first group. Both have the shape (tiles, groups, height, …).
  std::int8_t* digits_of(int64_t i) const {
    return first_digits_ + (tiles_.tile(i) * groups_ * tiles_.height + tiles_.row(i)) * row_;
  }
  std::int32_t* corrections_of(int64_t i) const {
    return first_correction_ + tiles_.tile(i) * groups_ * tiles_.height + tiles_.row(i);
  }

  // Computes rows i1 … i2 of y and the columns of panels j1 … j2.
  void block(int64_t i1, int64_t i2, int64_t j1, int64_t j2, const Int4Panels& panels) const {
    for (int64_t j = j1; j < j2; ++j)
      for (int64_t i = i1; i < i2; i += tiles_.height) {
        Int4Tile t{};
        t.groups = groups_;
        t.a = digits_of(i);
        t.a_group = tiles_.height * row_;
        t.corrections = corrections_of(i);
        t.correction_group = tiles_.height;
        t.panel = g_.panels + j * panels.bytes();
        t.rows = static_cast<int>(std::min(tiles_.height, i2 - i));
        t.digits = quantized_.digits;
        t.columns = std::min(panels.nr, g_.n - j * panels.nr);
        t.row_scales = row_scales_ + i;
        with_epilogue(g_, i, j * panels.nr, t.rows, t.columns, panels.nr, [&](float* y, int64_t y_row) {
          t.y = y;
          t.y_row = y_row;
          kernel_.tile(t);
        });
      }
  }

  const Int4Kernels<T>& kernel_ = kernels<Int4Kernels<T>>();
  const QuantizedProblem<T>& g_;
  QuantizedRows quantized_;
  int64_t groups_;
  Int4Tiles tiles_;
  int64_t row_;  // the bytes of a group of the digits of a row of x
  Tensor digits_, corrections_, scales_;
  std::int8_t* first_digits_;
  std::int32_t* first_correction_;
  float* row_scales_;
};

}  // namespace

template <class T>
void int4_product(const QuantizedProblem<T>& problem) {
  if (problem.m == 0 || problem.n == 0) return;
  Int4Product<T>(problem).run();
}

template void int4_product(const QuantizedProblem<float>&);
template void int4_product(const QuantizedProblem<bfloat16>&);

}  // namespace weft::detail
