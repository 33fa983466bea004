// Turns std::bad_alloc into an Error at the functions that a program calls. No other code does that.
#pragma once
#include <new>

namespace weft::detail {

// Throws Error("[who] out of memory"). If there is no memory for that text, throws an Error that was created at program
// start.
[[noreturn]] void fail_out_of_memory(const char* who);

// Calls f. Turns a std::bad_alloc that f throws into that Error.
template <class F>
decltype(auto) guard_memory(const char* who, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(who);
  }
}

}  // namespace weft::detail
