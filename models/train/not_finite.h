// The error for a loss or a gradient that is not finite.
#pragma once
#include <cmath>
#include <string>

#include "weft/error.h"

namespace weft::detail {

class NotFinite : public Error {
 public:
  using Error::Error;
};

// NaN is shown without its sign, which has no meaning. The message names options of weft train that may help.
[[noreturn]] inline void fail_loss(const std::string& what, double loss) {
  throw NotFinite(
      "[train] " + what + " is " + (std::isnan(loss) ? "nan" : std::to_string(loss)) +
      "; a lower learning rate (--lr), a longer warmup (--warmup) or a smaller clip (--clip) may keep it finite");
}

}  // namespace weft::detail
