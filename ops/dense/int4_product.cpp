// y = x Wᵀ with W in panels of 4 bits. Each row of x becomes one or two rows of digits with a scale, and a correction
// for each group (kernels/int4.h). A task then computes the tiles for some rows of y and some panels. Within a task a
// panel stays in cache for all rows, so products with few rows read W only once.
#include "dense/int4_weight.h"
#include "dense/quantized_blocks.h"
#include "weft/tensor.h"

namespace weft::detail {
namespace {

using std::int64_t;

// The number of bytes between the groups of the digits of `rows` rows: an odd number of cache lines, so that the groups
// of a row of digits don't all lie in the same L1 sets.
int64_t digits_group(int64_t rows) { return 64 * ((rows * int4_group + 63) / 64 | 1); }

template <class T>
class Int4Product {
 public:
  explicit Int4Product(const QuantizedProblem<T>& problem)
      : g_(problem),
        quantized_(problem.m),
        groups_(int4_groups(problem.k)),
        a_group_(digits_group(problem.m * quantized_.digits)),
        digits_(Tensor::empty({groups_ * a_group_}, DType::i8)),
        numbers_(Tensor::empty({(groups_ + 1) * problem.m}, DType::f32)) {
    a_ = digits_.template mutable_data<std::int8_t>();
    scales_ = numbers_.template mutable_data<float>();
    corrections_ = reinterpret_cast<std::int32_t*>(scales_ + problem.m);
  }

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
    scales_[i] = magnitude / quantized_.limit;
    kernel_.write_digits(g_.k, x, factors.first, factors.second, quantized_.digits,
                         a_ + i * quantized_.digits * int4_group, a_group_, corrections_ + i, g_.m);
  }

  // Computes rows i1 … i2 of y and the columns of panels j1 … j2.
  void block(int64_t i1, int64_t i2, int64_t j1, int64_t j2, const Int4Panels& panels) const {
    const int64_t most = kernel_.mr / quantized_.digits, tiles = (i2 - i1 - 1) / most + 1;
    const int64_t height = (i2 - i1 - 1) / tiles + 1;
    for (int64_t j = j1; j < j2; ++j)
      for (int64_t i = i1; i < i2; i += height) {
        Int4Tile t{};
        t.groups = groups_;
        t.a = a_ + i * quantized_.digits * int4_group;
        t.a_group = a_group_;
        t.corrections = corrections_ + i;
        t.correction_group = g_.m;
        t.panel = g_.panels + j * panels.bytes();
        t.rows = static_cast<int>(std::min(height, i2 - i));
        t.digits = quantized_.digits;
        t.columns = std::min(panels.nr, g_.n - j * panels.nr);
        t.row_scales = scales_ + i;
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
  int64_t groups_, a_group_;
  Tensor digits_, numbers_;
  std::int8_t* a_;
  float* scales_;
  std::int32_t* corrections_;
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
