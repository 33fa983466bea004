// UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once
#include <string>
#include <string_view>

namespace weft::detail {

void append_utf8(char32_t symbol, std::string& text);

// "U+00E9"
std::string code_point_name(char32_t symbol);

struct CodePoint {
  char32_t symbol;
  std::size_t bytes;  // 0: not UTF-8
};
// The code point at the beginning of a text that is not empty.
CodePoint first_code_point(std::string_view text) noexcept;
[[noreturn]] void fail_utf8(const std::string& where, std::size_t offset);

// Calls use(code point, byte offset) for each code point. Error, naming the first byte that isn't UTF-8.
template <class Use>
void for_each_code_point(std::string_view text, const std::string& where, Use use) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = first_code_point(text.substr(at));
    if (next.bytes == 0) fail_utf8(where, at);
    use(next.symbol, at);
    at += next.bytes;
  }
}

}  // namespace weft::detail
