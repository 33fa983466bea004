// Base64 (RFC 4648 section 4): bytes in JSON.
#pragma once
#include <string>

#include "weft/error.h"

namespace weft::detail {

constexpr char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string to_base64(const std::string& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0;
    };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : base64_digits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

// Error unless to_base64 wrote it.
inline std::string from_base64(const std::string& text) {
  std::string bytes;
  unsigned four = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = std::string(base64_digits).find(text[i]);
    if (digit == std::string::npos && text[i] != '=') throw Error("[tokenizer] its model is not base64");
    four = four << 6 | static_cast<unsigned>(digit == std::string::npos ? 0 : digit);
    if (i % 4 == 3)
      for (int shift : {16, 8, 0}) bytes += static_cast<char>(static_cast<unsigned char>(four >> shift & 255));
  }
  const std::size_t padding = text.size() - (text.find_last_not_of('=') + 1);
  bytes.resize(bytes.size() - std::min(padding, bytes.size()));
  if (to_base64(bytes) != text) throw Error("[tokenizer] its model is not base64");
  return bytes;
}

}  // namespace weft::detail
