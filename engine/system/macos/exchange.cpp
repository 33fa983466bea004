#include "system/posix/exchange.h"

#include <stdio.h>

namespace weft::os {

bool exchange_names(const std::string& a, const std::string& b) noexcept {
  return ::renamex_np(a.c_str(), b.c_str(), RENAME_SWAP) == 0;
}

}  // namespace weft::os
