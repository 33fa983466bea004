// Runs a check on each instruction set of this machine.
#pragma once
#include <doctest/doctest.h>

#include "weft/context.h"

namespace weft::test {

template <class F>
void for_every_isa(F f) {
  for (Isa isa : available_isas()) {
    CAPTURE(isa_name(isa));
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    f();
  }
}

}  // namespace weft::test
