// The table of one instruction set; a new family is a line in each list and one in kernels.h.
#include "kernels.h"

namespace weft::WEFT_ISA {

extern const KernelFamily<ElementwiseKernels> elementwise;
extern const KernelFamily<UnaryKernels> unary;
extern const KernelFamily<ActivationKernels> activation;
extern const KernelFamily<GemmKernels> gemm;
extern const KernelFamily<SoftmaxKernels> softmax;
extern const KernelFamily<DropoutKernels> dropout;
extern const KernelFamily<ReduceKernels> reduce;
extern const KernelFamily<NormKernels> norm;
extern const KernelFamily<OptimizerKernels> optimizer;
extern const KernelFamily<FftKernels> fft;
extern const KernelFamily<RealFftKernels> real_fft;
extern const KernelFamily<FourStepKernels> four_step;
extern const KernelFamily<ToeplitzRingKernels> convolution;
extern const KernelFamily<ToeplitzNaiveKernels> toeplitz;

extern const Kernels table;
constinit const Kernels table = {elementwise, unary,     activation, gemm,     softmax,   dropout,     reduce,
                                 norm,        optimizer, fft,        real_fft, four_step, convolution, toeplitz};

}  // namespace weft::WEFT_ISA
