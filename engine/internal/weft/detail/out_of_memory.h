// std::bad_alloc becomes an Error where weft is called: the one place that says so.
#pragma once
#include <new>

namespace weft::detail {

// Throws Error("[who] out of memory"); if there is no memory for that text, an Error that was made when the program began.
[[noreturn]] void fail_out_of_memory(const char* who);

// Calls f, of which std::bad_alloc becomes that Error.
template <class F>
decltype(auto) guard_memory(const char* who, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(who);
  }
}

}  // namespace weft::detail
