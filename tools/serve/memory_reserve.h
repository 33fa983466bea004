// Memory for the moment when no other memory is left.
#pragma once

namespace serve {

// Keeps some memory until `new` fails for the first time, which then gets it. Destructors of JSON values and of other
// types need a little memory, and would end the process without it. But other code can use up the reserve first. Call
// this function again and again. It returns false if the memory was used, and there is not as much now. Thread-safe.
bool keep_memory_reserve() noexcept;

}  // namespace serve
