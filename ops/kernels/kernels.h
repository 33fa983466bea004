// The kernels of every instruction set that this build has, reached by name.
#pragma once
#include "elementwise.h"
#include "family.h"
#include "weft/cpu.h"

namespace weft {

struct Kernels {
  const KernelFamily<ElementwiseKernels>& elementwise;
};

// Those of one instruction set. Error if this build doesn't have it or this CPU can't run it.
const Kernels& kernels(Isa isa);

// Those of the current Context's instruction set.
const Kernels& kernels();

}  // namespace weft
