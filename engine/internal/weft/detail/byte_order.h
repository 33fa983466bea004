// Files have the least significant byte of a number first. Most processors do, too.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace weft::detail {

inline constexpr bool has_byte_order_of_files = std::endian::native == std::endian::little;

// Reverses the bytes of each of `count` elements of `size` bytes.
inline void reverse_bytes(void* elements, std::size_t count, std::size_t size) noexcept {
  auto* bytes = static_cast<unsigned char*>(elements);
  for (std::size_t i = 0; i < count; ++i, bytes += size) std::reverse(bytes, bytes + size);
}

// Converts elements between the processor's byte order and that of files.
inline void swap_byte_order(void* elements, std::size_t count, std::size_t size) noexcept {
  if constexpr (!has_byte_order_of_files) reverse_bytes(elements, count, size);
}

// Reads a number from the bytes of a file, and writes one.
template <class T>
T number_from(const void* bytes) noexcept {
  T x;
  std::memcpy(&x, bytes, sizeof x);
  swap_byte_order(&x, 1, sizeof x);
  return x;
}
template <class T>
void put_number(void* bytes, T x) noexcept {
  swap_byte_order(&x, 1, sizeof x);
  std::memcpy(bytes, &x, sizeof x);
}

}  // namespace weft::detail
