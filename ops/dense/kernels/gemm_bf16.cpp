// The bf16 kernels are a separate unit, because instruction sets that add only bf16 products use the f32 and f64
// kernels of the instruction set that they extend.
#include "dense/kernels/gemm_kernels.h"

WEFT_KERNEL_TABLE(GemmKernels, weft::bfloat16)
WEFT_KERNEL_TABLE(GemmKernels, weft::detail::Bf16ToF32)
