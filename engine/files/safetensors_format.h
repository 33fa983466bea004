// What the reader and the writer of safetensors files share.
#pragma once
#include <cstdint>
#include <string>

namespace weft::safetensors {

// 8 bytes of header length, the header, the data.
inline constexpr std::uint64_t length_bytes = 8;
inline constexpr std::uint64_t header_limit = 100'000'000;  // the reference implementation's
inline constexpr char metadata_key[] = "__metadata__";

// For messages: names come from files and may be long.
inline std::string shown(const std::string& text) {
  return "\"" + (text.size() <= 200 ? text : text.substr(0, 200) + "…") + "\"";
}

}  // namespace weft::safetensors
