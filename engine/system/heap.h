// Blocks of the heap that begin at a multiple of 64 bytes. Windows can't free such blocks with free().
#pragma once
#include <cstddef>

namespace weft::os {

// `bytes` is a multiple of 64. Returns null if there is not enough memory.
void* heap_block(std::size_t bytes) noexcept;
void free_heap_block(void* block) noexcept;

}  // namespace weft::os
