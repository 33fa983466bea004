// --isa: a program run as on a CPU whose best instruction set is another.
#pragma once
#include <string>

namespace weft::bench {

constexpr const char* isa_help =
    "Instruction set to run as if the CPU had none better: sse2, avx2 and so on. It caps weft, as WEFT_ISA does, the "
    "limits that weft is held against, and the C library's copies. Default: the best";

// Caps weft, oneDNN and the C library's copies. The last two read the environment once, so the program starts anew, with
// them capped there. Error with the names that can be given if `name` isn't one of them.
void cap_isa(const std::string& name, char** argv);

}  // namespace weft::bench
