/// \file
/// Instruction sets, and which of them this CPU and operating system can run.
#pragma once
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// An instruction set: sse2, avx2, avx512, neon, …. Each line of weft/isas.def defines one instruction set and states
/// the CPU features that it needs. The instruction sets of a processor family are in ascending order, so the best one
/// is last.
enum class Isa {
/// \cond
#define WEFT_INSTRUCTION_SET(name, ...) name,
/// \endcond
#include "weft/isas.def"
};

/// The name, such as "sse2" or "avx2".
const char* isa_name(Isa isa) noexcept;

/// Whether this build has kernels for the instruction set, and both the CPU and the operating system can run them.
bool cpu_has(Isa isa) noexcept;

/// All instruction sets for which cpu_has is true, in ascending order.
std::vector<Isa> available_isas();

/// The best available instruction set. If the environment variable WEFT_ISA names an instruction set, the result is the
/// best available one that is not better than the named one. If only better ones are available, the result is the
/// lowest of them. Error if WEFT_ISA doesn't name an instruction set of this processor family, or if none is available.
Isa best_isa();

}  // namespace weft
WEFT_PUBLIC_END
