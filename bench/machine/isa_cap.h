// --isa runs a program as if the CPU had no better instruction set than the named one.
#pragma once
#include <string>

namespace weft::bench {

// Caps weft, oneDNN and the copy functions of the C library. The last two read the environment only once, so the
// program restarts itself with the caps in its environment. If `name` is not available, throws an Error that lists the
// available names.
void cap_isa(const std::string& name, char** argv);

}  // namespace weft::bench
