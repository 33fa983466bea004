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
  const PanelLayout layout = layout_of(kernel, k, n);
  for (int64_t p = 0; p < k; p += layout.block)
    pack_panels<T>(kernel.pack_b, kernel.nr, n, std::min(layout.block, k - p), b.data + p * b.row, b.column, b.row, 1,
                   out + layout.at(p, 0));
}

template PanelLayout panel_layout<float>(int64_t, int64_t);
template PanelLayout panel_layout<double>(int64_t, int64_t);
template PanelLayout panel_layout<bfloat16>(int64_t, int64_t);
template void pack_b(int64_t, int64_t, MatrixView<const float>, float*);
template void pack_b(int64_t, int64_t, MatrixView<const double>, double*);
template void pack_b(int64_t, int64_t, MatrixView<const bfloat16>, bfloat16*);

}  // namespace weft::detail
