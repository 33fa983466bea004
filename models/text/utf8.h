// UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/tokenizer.h"

namespace weft::detail {

void append_utf8(char32_t symbol, std::string& text);

// "U+00E9"
std::string code_point_name(char32_t symbol);

struct CodePoint {
  char32_t symbol;
  std::size_t bytes;  // 0: not UTF-8
};
// Returns the code point at the beginning of a text, which must not be empty.
CodePoint first_code_point(std::string_view text) noexcept;

// The beginning of a message, "[tokenizer] " or "NAME: ".
std::string prefix(const TextPlace& place);
// "byte 7"
std::string byte_name(const TextPlace& place, std::size_t at);
// Throws an Error which says that the byte at `at` isn't UTF-8.
[[noreturn]] void fail_utf8(std::string_view text, std::size_t at, const TextPlace& place);

// Calls use(code point, byte offset) for each code point. Throws an Error that names the first byte that isn't UTF-8.
template <class Use>
void for_each_code_point(std::string_view text, const TextPlace& place, Use use) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const CodePoint next = byte < 0x80 ? CodePoint{byte, 1} : first_code_point(text.substr(at));
    if (next.bytes == 0) fail_utf8(text, at, place);
    use(next.symbol, at);
    at += next.bytes;
  }
}
template <class Use>
void for_each_code_point(std::string_view text, const std::string& name, Use use) {
  for_each_code_point(text, TextPlace{name}, use);
}

// The length of the text without an incomplete code point at its end.
std::size_t whole_code_points(std::string_view text) noexcept;

}  // namespace weft::detail
