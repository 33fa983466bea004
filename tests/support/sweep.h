// Sweeps over sizes, seeds or repetitions are complete, or partial if WEFT_SWEEPS=short is set, like tools/check does
// under sanitizers, where everything takes ten times as long. Sanitizers check how memory is used, and the first cases
// of a sweep are enough for that.
#pragma once
#include <cstdlib>
#include <string_view>

namespace weft::test {

// The number of cases: sweep(3000, 200) is 3000 for a complete sweep, 200 for a partial one.
template <class N>
N sweep(N whole, N part) {
  const char* asked = std::getenv("WEFT_SWEEPS");
  return asked != nullptr && std::string_view(asked) == "short" ? part : whole;
}

}  // namespace weft::test
