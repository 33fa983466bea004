// The simplifications of Unicode text in FNet's tokenizer.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace weft::detail {

// All of these take UTF-8.

// The compatibility decomposition (NFKD) of the text, without combining marks: "Zoë ﬁ" becomes "Zoe fi".
std::string without_accents(std::string_view text);

// Converts each character to lower case, regardless of its neighbors. The word "ΑΣ" therefore becomes "ασ", although
// the correct lower case is "ας".
std::string in_lower_case(std::string_view text);

// Returns the last character, or nothing for an empty text.
std::string_view last_character(std::string_view text);

// The longest prefix of the text that has at most `most` bytes (4 or more) and splits no character.
std::string_view whole_characters(std::string_view text, std::size_t most);

// Replaces each white-space character of Unicode for which `is_space` is true by a space.
std::string with_plain_spaces(std::string_view text, const std::function<bool(std::string_view)>& is_space);

// Removes Unicode's white space from the end.
std::string_view without_spaces_at_end(std::string_view text);

}  // namespace weft::detail
