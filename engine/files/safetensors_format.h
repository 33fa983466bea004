// Constants and functions that the reader and the writer of safetensors files share.
#pragma once
#include <cstdint>
#include <string>

namespace weft::safetensors {

// The file consists of 8 bytes with the length of the header, the header, and the data.
inline constexpr std::uint64_t length_bytes = 8;
inline constexpr std::uint64_t header_limit = 100'000'000;  // the limit of the reference implementation
inline constexpr char metadata_key[] = "__metadata__";

// Shortens a name for messages: names come from files and may be long.
inline std::string shown(const std::string& text) {
  return "\"" + (text.size() <= 200 ? text : text.substr(0, 200) + "…") + "\"";
}

}  // namespace weft::safetensors
