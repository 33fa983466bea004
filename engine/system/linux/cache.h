// The size of a core's L2 cache.
#pragma once
#include <cstdint>

namespace weft::detail {

// In bytes; 0 if neither the C library, the CPU nor the kernel reports it.
std::int64_t second_cache_size() noexcept;

}  // namespace weft::detail
