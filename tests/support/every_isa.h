// Runs a check on each instruction set of this machine.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "weft/context.h"

namespace weft::test {

// Whether the kernels use fused multiply-adds. All instruction sets that have them give the same bits.
inline bool has_fused_multiply_add(Isa isa) {
  const std::string name = isa_name(isa);
  return name != "sse2" && name != "generic";
}

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
