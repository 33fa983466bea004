/// \file
/// Instruction sets, and which of them this CPU and operating system can run.
#pragma once
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// sse2, avx2, avx512, neon, …: one for each line of weft/isas.def, which states the CPU features that it needs. Those
/// of one processor family are in order, the best last.
enum class Isa {
/// \cond
#define WEFT_INSTRUCTION_SET(name, ...) name,
/// \endcond
#include "weft/isas.def"
};

/// "sse2", "avx2", …
const char* isa_name(Isa isa) noexcept;

/// True if this build has kernels for it, and the CPU and the operating system can run them.
bool cpu_has(Isa isa) noexcept;

/// All instruction sets for which cpu_has is true, the best last.
std::vector<Isa> available_isas();

/// The best available instruction set that is not better than the environment variable WEFT_ISA. If that leaves none,
/// it is the lowest available one. Error if WEFT_ISA names none of this processor family, or if none is available.
Isa best_isa();

}  // namespace weft
#pragma GCC visibility pop
