#include "dense/packing.h"

#include "dense/gemm.h"

namespace weft::detail {

using std::int64_t;

template <class T>
PanelLayout panel_layout(int64_t k, int64_t n) {
  return layout_of(gemm_kernels<T>(), k, n);
}

template <class T>
void pack_b(int64_t k, int64_t n, MatrixView<const T> b, T* out) {
  const GemmKernels<T> kernel = gemm_kernels<T>();
  pack_b(kernel, layout_of(kernel, k, n), k, n, b.data, b.row, b.column, out);
}

template PanelLayout panel_layout<float>(int64_t, int64_t);
template PanelLayout panel_layout<double>(int64_t, int64_t);
template PanelLayout panel_layout<bfloat16>(int64_t, int64_t);
template void pack_b(int64_t, int64_t, MatrixView<const float>, float*);
template void pack_b(int64_t, int64_t, MatrixView<const double>, double*);
template void pack_b(int64_t, int64_t, MatrixView<const bfloat16>, bfloat16*);

}  // namespace weft::detail
