// A sweep over sizes, seeds or repetitions is complete, or partial if WEFT_SWEEPS=short is set. tools/check sets this
// variable for sanitizers, because they make all tests ten times slower. Sanitizers check memory accesses, and the
// first cases of a sweep are enough for this purpose.
#pragma once
#include <cstdlib>
#include <string_view>

namespace weft::test {

// Returns the number of cases. For example, sweep(3000, 200) is 3000 for a complete sweep and 200 for a partial one.
template <class N>
N sweep(N whole, N part) {
  const char* asked = std::getenv("WEFT_SWEEPS");
  return asked != nullptr && std::string_view(asked) == "short" ? part : whole;
}

}  // namespace weft::test
