// The bytes of a safetensors file.
#pragma once
#include <cstdint>
#include <string>

namespace weft::test {

inline std::string file_of(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(std::uint64_t{header.size()} >> 8 * i);
  return length + header + data;
}

}  // namespace weft::test
