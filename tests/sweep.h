// Sweeps over sizes, seeds or repetitions run whole, or a part of each where WEFT_SWEEPS=short is set, as tools/check does under
// sanitizers: there a sweep asks whether memory is used rightly, which its first cases show, and takes ten times as long.
#pragma once
#include <cstdlib>
#include <string_view>

namespace weft::test {

// How many: sweep(3000, 200) is 3000 of a whole sweep, 200 of a part.
template <class N>
N sweep(N whole, N part) {
  const char* asked = std::getenv("WEFT_SWEEPS");
  return asked != nullptr && std::string_view(asked) == "short" ? part : whole;
}

}  // namespace weft::test
