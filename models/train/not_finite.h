// The error for a loss that is not finite.
#pragma once
#include <cmath>
#include <string>

#include "weft/error.h"

namespace weft::detail {

// NaN is shown without its sign, which has no meaning. The message names options of weft train that may help.
[[noreturn]] inline void fail_loss(const std::string& what, double loss) {
  throw Error(
      "[train] " + what + " is " + (std::isnan(loss) ? "nan" : std::to_string(loss)) +
      "; a lower learning rate (--lr), a longer warmup (--warmup) or a smaller clip (--clip) may keep it finite");
}

}  // namespace weft::detail
