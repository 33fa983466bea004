// --isa: runs a program as if the CPU had another best instruction set.
#pragma once
#include <string>

namespace weft::bench {

constexpr const char* isa_help =
    "Best instruction set to use: sse2, avx2 and so on. It caps weft (like WEFT_ISA), the limits that weft is compared "
    "with, and the copies of the C library. Default: the best of this CPU";

// Caps weft, oneDNN and the copies of the C library. The last two read the environment only once, so the program
// restarts with these caps in the environment. If `name` is unknown, throws an Error that lists the known names.
void cap_isa(const std::string& name, char** argv);

}  // namespace weft::bench
