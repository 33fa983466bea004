#include "train/utf8.h"

#include <cstdio>

#include "weft/error.h"

namespace weft::detail {

CodePoint first_code_point(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr char32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {0, 0};
  char32_t symbol = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    symbol = symbol << 6 | (byte(i) & 0x3Fu);
  }
  const bool surrogate = symbol >= 0xD800 && symbol <= 0xDFFF;
  if (symbol < lowest[bytes] || symbol > 0x10FFFF || surrogate) return {0, 0};
  return {symbol, bytes};
}

void fail_utf8(const std::string& where, std::size_t offset) {
  throw Error(where + ": invalid UTF-8 at byte " + std::to_string(offset));
}

void append_utf8(char32_t symbol, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  const auto rest = [&](int shift) { put(0x80 | (symbol >> shift & 0x3F)); };
  if (symbol < 0x80) return put(symbol);
  if (symbol < 0x800) put(0xC0 | symbol >> 6);
  else if (symbol < 0x10000) put(0xE0 | symbol >> 12);
  else put(0xF0 | symbol >> 18);
  if (symbol >= 0x10000) rest(12);
  if (symbol >= 0x800) rest(6);
  rest(0);
}

std::string code_point_name(char32_t symbol) {
  char name[16];
  std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(symbol));
  return name;
}

}  // namespace weft::detail
