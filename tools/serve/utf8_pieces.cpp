#include "serve/utf8_pieces.h"

namespace serve {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";

// A prefix of a text that is one character, or that is invalid, or that is the beginning of a character.
struct Prefix {
  std::size_t bytes;
  bool is_valid;
  bool is_complete;  // if not, more bytes decide whether it is valid
};

// The well-formed sequences of The Unicode Standard, table 3-7. An invalid prefix is its "maximal subpart".
Prefix prefix_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, true, true};
  const std::size_t length = first < 0xC2 || first > 0xF4 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0) return {1, false, true};
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {i, false, false};
    unsigned char lowest = 0x80, highest = 0xBF;
    if (i == 1) {
      if (first == 0xE0) lowest = 0xA0;
      if (first == 0xF0) lowest = 0x90;
      if (first == 0xED) highest = 0x9F;
      if (first == 0xF4) highest = 0x8F;
    }
    if (byte(i) < lowest || byte(i) > highest) return {i, false, true};
  }
  return {length, true, true};
}

}  // namespace

std::string Utf8Pieces::add(std::string_view bytes) {
  held_.append(bytes);
  std::string_view rest = held_;
  std::string out;
  while (!rest.empty()) {
    const Prefix prefix = prefix_of(rest);
    if (!prefix.is_complete) break;
    out += prefix.is_valid ? rest.substr(0, prefix.bytes) : replacement;
    rest.remove_prefix(prefix.bytes);
  }
  held_ = std::string(rest);
  return out;
}

std::string Utf8Pieces::finish() {
  if (held_.empty()) return "";
  held_.clear();
  return replacement;
}

std::string valid_utf8(std::string_view bytes) {
  Utf8Pieces pieces;
  const std::string text = pieces.add(bytes);
  return text + pieces.finish();
}

}  // namespace serve
