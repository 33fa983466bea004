#include "system/posix/exchange.h"

namespace weft::os {

// Emscripten's file systems can't exchange two names in one step.
bool exchange_names(const std::string&, const std::string&) noexcept { return false; }

}  // namespace weft::os
