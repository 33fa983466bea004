#include "dense/kernels/gemm_kernels.h"

WEFT_KERNEL_TABLES(GemmKernels)
