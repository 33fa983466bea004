// A separate unit, because instruction sets that add bf16 products don't have their own f32 and f64 kernels.
#include "dense/kernels/gemm_kernels.h"

WEFT_KERNEL_TABLE(GemmKernels, weft::bfloat16)
WEFT_KERNEL_TABLE(GemmKernels, weft::detail::Bf16ToF32)
