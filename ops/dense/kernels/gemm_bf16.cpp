// A unit of its own: instruction sets that add products of bf16 have no others of f32 and f64.
#include "dense/kernels/gemm_kernels.h"

WEFT_KERNEL_TABLE(GemmKernels, weft::bfloat16)
WEFT_KERNEL_TABLE(GemmKernels, weft::detail::Bf16ToF32)
