// Base64 (RFC 4648 section 4), which stores bytes in JSON strings.
#pragma once
#include <algorithm>
#include <array>
#include <string>

#include "weft/error.h"

namespace weft::detail {

constexpr char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string to_base64(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0;
    };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : base64_digits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

// Throws an Error unless to_base64 wrote the text.
inline std::string from_base64(const std::string& text) {
  static const std::array<signed char, 256> values = [] {
    std::array<signed char, 256> all;
    all.fill(-1);
    for (int i = 0; i < 64; ++i) all[static_cast<unsigned char>(base64_digits[i])] = static_cast<signed char>(i);
    all['='] = 0;
    return all;
  }();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned four = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int value = values[static_cast<unsigned char>(text[i])];
    if (value < 0) throw Error("[tokenizer] expected the SentencePiece model in base64");
    four = four << 6 | static_cast<unsigned>(value);
    if (i % 4 == 3)
      for (int shift : {16, 8, 0}) bytes += static_cast<char>(static_cast<unsigned char>(four >> shift & 255));
  }
  const std::size_t padding = text.size() - (text.find_last_not_of('=') + 1);
  bytes.resize(bytes.size() - std::min(padding, bytes.size()));
  if (to_base64(bytes) != text) throw Error("[tokenizer] expected the SentencePiece model in base64");
  return bytes;
}

}  // namespace weft::detail
