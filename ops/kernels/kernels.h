// The kernels of every instruction set that this build has, reached by name.
#pragma once
#include "activation.h"
#include "dropout.h"
#include "elementwise.h"
#include "family.h"
#include "fft.h"
#include "fft_four_step.h"
#include "fft_real.h"
#include "gemm.h"
#include "norm.h"
#include "optimizer.h"
#include "reduce.h"
#include "softmax.h"
#include "toeplitz_naive.h"
#include "toeplitz_ring.h"
#include "unary.h"
#include "weft/cpu.h"

namespace weft {

struct Kernels {
  const KernelFamily<ElementwiseKernels>& elementwise;
  const KernelFamily<UnaryKernels>& unary;
  const KernelFamily<ActivationKernels>& activation;
  const KernelFamily<GemmKernels>& gemm;
  const KernelFamily<SoftmaxKernels>& softmax;
  const KernelFamily<DropoutKernels>& dropout;
  const KernelFamily<ReduceKernels>& reduce;
  const KernelFamily<NormKernels>& norm;
  const KernelFamily<OptimizerKernels>& optimizer;
  const KernelFamily<FftKernels>& fft;
  const KernelFamily<RealFftKernels>& real_fft;
  const KernelFamily<FourStepKernels>& four_step;
  const KernelFamily<ToeplitzRingKernels>& convolution;
  const KernelFamily<ToeplitzNaiveKernels>& toeplitz;
};

// Those of one instruction set. Error if this build doesn't have it or this CPU can't run it.
const Kernels& kernels(Isa isa);

// Those of the current Context's instruction set.
const Kernels& kernels();

}  // namespace weft
