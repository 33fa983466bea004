// Tokenizers that split a text into words and look them up in a list. Each kind has its own rule for where words begin
// and end.
#pragma once
#include "weft/function_ref.h"
#include "weft/tokenizer.h"

namespace weft::detail {

struct WordRule {
  const char* name;
  const char* meaning;
  // Calls its second argument with each word of a UTF-8 text, in order.
  void (*split)(std::string_view text, FunctionRef<void(const std::string&)> use);
  // Whether a text may be split after this byte, because it never occurs inside a word of several bytes.
  bool (*ends_word)(unsigned char byte);
};

// A tokenizer that learns the most frequent words. The order of ids is [pad], [unk], [cls], the words, and [mask] if
// required.
TokenizerKind word_list_kind(const WordRule& rule);

// True for 0-9, A-Z, a-z, and every byte that is not ASCII.
constexpr bool is_letter(unsigned char byte) noexcept {
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// True for the white space of ASCII.
constexpr bool is_space(unsigned char byte) noexcept { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

}  // namespace weft::detail
