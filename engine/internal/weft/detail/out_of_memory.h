// Turns std::bad_alloc into an Error where a program calls weft. No other place does that.
#pragma once
#include <new>

namespace weft::detail {

// Throws Error("[who] out of memory"). If there is no memory for that text, throws an Error that was made at program
// start.
[[noreturn]] void fail_out_of_memory(const char* who);

// Calls f and turns its std::bad_alloc into that Error.
template <class F>
decltype(auto) guard_memory(const char* who, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(who);
  }
}

}  // namespace weft::detail
