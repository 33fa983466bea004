// The simplifications of Unicode text in FNet's tokenizer.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace weft::detail {

// All of these take UTF-8.

// The text in its compatibility decomposition (NFKD), without combining marks: "Zoë ﬁ" is "Zoe fi".
std::string without_accents(std::string_view text);

// Each character in lower case, regardless of its neighbors: the word "ΑΣ" is "ας", but here it is "ασ".
std::string in_lower_case(std::string_view text);

// Empty for an empty text.
std::string_view last_character(std::string_view text);

// The longest beginning of the text with at most `most` bytes (4 or more) that splits no character.
std::string_view whole_characters(std::string_view text, std::size_t most);

// Replaces each of Unicode's white-space characters for which `is_space` is true by a space.
std::string with_plain_spaces(std::string_view text, const std::function<bool(std::string_view)>& is_space);

// Removes Unicode's white space from the end.
std::string_view without_spaces_at_end(std::string_view text);

}  // namespace weft::detail
