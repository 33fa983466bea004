// The table of one instruction set; a new family is a line in each list and one in kernels.h.
#include "kernels.h"

namespace weft::WEFT_ISA {

extern const KernelFamily<ElementwiseKernels> elementwise;

extern const Kernels table;
const Kernels table = {elementwise};

}  // namespace weft::WEFT_ISA
