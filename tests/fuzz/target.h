// The function that libFuzzer calls with generated inputs, and replay.cpp with stored inputs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weft::test {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Calls f, which may throw only an Error.
template <class F>
void refuses_or_works(const F& f) {
  try {
    f();
  } catch (const Error&) {  // the expected result of bad input
  }
}

}  // namespace weft::test
