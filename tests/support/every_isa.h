// Runs a check on each instruction set of this machine.
#pragma once
#include <doctest/doctest.h>

#include <type_traits>

#include "weft/context.h"

namespace weft::test {

// Calls f() or f(context) once per instruction set, with a current context that uses it.
template <class F>
void for_every_isa(F f) {
  for (Isa isa : available_isas()) {
    CAPTURE(isa_name(isa));
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    if constexpr (std::is_invocable_v<F, Context&>) f(context);
    else f();
  }
}

}  // namespace weft::test
