#include "text/utf8.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "weft/error.h"

namespace weft {
namespace detail {

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

std::string prefix(const TextPlace& place) { return place.name.empty() ? "[tokenizer] " : place.name + ": "; }

std::string byte_name(const TextPlace& place, std::size_t at) { return "byte " + std::to_string(place.offset + at); }

void fail_utf8(std::string_view text, std::size_t at, const TextPlace& place) {
  const std::string_view rest = text.substr(at);
  std::string reason;
  if (place.offset + at == 0 && (rest.substr(0, 2) == "\xFF\xFE" || rest.substr(0, 2) == "\xFE\xFF"))
    reason = ": it looks like UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)";
  else if (whole_code_points(text) == at) reason = ": the text ends within a character";
  else if (!place.name.empty())
    reason = " (is it in another encoding? iconv -f ISO-8859-1 -t UTF-8 FILE > NEW converts it)";
  throw Error(prefix(place) + "invalid UTF-8 at " + byte_name(place, at) + reason);
}

std::size_t whole_code_points(std::string_view text) noexcept {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t bytes = byte > 0xF4 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return bytes > back ? text.size() - back : text.size();
  }
  return text.size();
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

}  // namespace detail

using namespace detail;

void check_utf8(std::string_view text, const TextPlace& place) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t eight = 0x80;
    if (text.size() - at >= 8) std::memcpy(&eight, text.data() + at, 8);
    if ((eight & 0x8080808080808080) == 0) {  // ASCII
      at += 8;
      continue;
    }
    const CodePoint next = first_code_point(text.substr(at));
    if (next.bytes == 0) fail_utf8(text, at, place);
    at += next.bytes;
  }
}

}  // namespace weft
