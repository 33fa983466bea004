// The bf16 kernels are a separate unit, because instruction sets that add bf16 products don't have f32 and f64 kernels
// of their own.
#include "dense/kernels/gemm_kernels.h"

WEFT_KERNEL_TABLE(GemmKernels, weft::bfloat16)
WEFT_KERNEL_TABLE(GemmKernels, weft::detail::Bf16ToF32)
