// Packing of A and B for gemm: the blocks of k, and the panels in each block (PanelLayout).
#pragma once
#include <algorithm>
#include <cstdint>

#include "dense/kernels/gemm.h"
#include "weft/context.h"
#include "weft/os.h"

namespace weft::detail {

// The number of multiply-adds per task. Larger: threads are idle at the end. Smaller: more overhead per task.
// bench: weft-bench --benchmark_filter='gemm-nn/(256|257)'
inline constexpr std::int64_t task_work = 1 << 18;

inline std::int64_t rounded_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// Returns the kernels of the current instruction set. Their blocks of k are designed for an L2 of 1 MiB. With a smaller
// L2, the size of a block of B, kc × nc, is reduced in proportion, but not below 256 KiB. No bit of a product depends
// on this. bench: weft-bench --benchmark_filter='gemm-n[nt]/(1024|4096)'
template <class T>
GemmKernels<T> gemm_kernels(std::int64_t second_cache = os::second_cache()) {
  GemmKernels<T> kernel = kernels<GemmKernels<T>>();
  const std::int64_t least = (256 << 10) / (kernel.nc * std::int64_t{sizeof(GemmIn<T>)});
  kernel.kc = std::min(kernel.kc, std::max(kernel.kc * (second_cache >> 10) / 1024, least));
  return kernel;
}

// Returns the length of a block of k. k is split into equal blocks of whole units, each of at most kernel.kc.
template <class T>
std::int64_t k_block(const GemmKernels<T>& kernel, std::int64_t k) {
  const std::int64_t blocks = (std::max<std::int64_t>(1, k) - 1) / kernel.kc + 1;
  return padded<GemmIn<T>>(std::max<std::int64_t>(1, (k - 1) / blocks + 1));
}

template <class T>
PanelLayout layout_of(const GemmKernels<T>& kernel, std::int64_t k, std::int64_t n) {
  return {padded<GemmIn<T>>(k), rounded_up(n, kernel.nr), k_block(kernel, k)};
}

// Packs `count` rows of A or columns of B, a few panels per task.
template <class T>
void pack_panels(typename GemmKernels<T>::Pack kernel, std::int64_t width, std::int64_t count, std::int64_t k,
                 const GemmIn<T>* x, std::int64_t stride_n, std::int64_t stride_k, GemmSum<T> sign, GemmIn<T>* out) {
  const std::int64_t grain = rounded_up(std::max<std::int64_t>(1, task_work / 8 / std::max<std::int64_t>(1, k)), width);
  Context::current().parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, k, x + begin * stride_n, stride_n, stride_k, sign, out + begin * padded<GemmIn<T>>(k));
  });
}

}  // namespace weft::detail
