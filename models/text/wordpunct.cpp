// A word is a run of letters and digits, unchanged, or a single punctuation mark, bracket or operator. White space is
// dropped.
#include "text/kinds.h"
#include "text/utf8.h"
#include "text/word_list.h"

namespace weft::detail {
namespace {

enum class Class { letter, mark, space };

// The marks beyond ASCII are the signs of Latin-1, General Punctuation, and CJK punctuation.
Class class_of(char32_t c) noexcept {
  if (c < 0x80) {
    const auto byte = static_cast<unsigned char>(c);
    return is_letter(byte) ? Class::letter : is_space(byte) ? Class::space : Class::mark;
  }
  if (c == 0xA0 || (c >= 0x2000 && c <= 0x200B) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x3000)
    return Class::space;
  const bool latin = c >= 0xA1 && c <= 0xBF && c != 0xAA && c != 0xB5 && c != 0xBA;
  return latin || (c >= 0x2010 && c <= 0x205E) || (c >= 0x3001 && c <= 0x3020) ? Class::mark : Class::letter;
}

void split(std::string_view text, FunctionRef<void(const std::string&)> use) {
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) use(word);
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = first_code_point(text.substr(at));
    const Class is = class_of(next.symbol);
    if (is != Class::letter) end_word();
    if (is != Class::space) word += text.substr(at, next.bytes);
    if (is == Class::mark) end_word();
    at += next.bytes;
  }
  end_word();
}

// Never returns true for a byte of a longer code point, because all such bytes are at least 0x80 and count as letters.
bool ends_word(unsigned char byte) { return !is_letter(byte); }

}  // namespace

TokenizerKind wordpunct_kind() {
  return word_list_kind(
      {"wordpunct", "unchanged words, and each punctuation mark and bracket by itself", split, ends_word});
}

}  // namespace weft::detail
