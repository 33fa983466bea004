// Turns std::bad_alloc into an OutOfMemory error in the functions that programs call.
#pragma once
#include <new>

namespace weft::detail {

// Throws OutOfMemory("[who] out of memory"). If there is no memory for this message, throws one that was created at
// program start.
[[noreturn]] void fail_out_of_memory(const char* who);

// Calls f. If f throws std::bad_alloc, calls fail_out_of_memory.
template <class F>
decltype(auto) guard_memory(const char* who, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(who);
  }
}

}  // namespace weft::detail
