// Unicode as FNet's tokenizer simplifies it.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace weft::detail {

// All of these take UTF-8.

// The text in its compatibility decomposition (NFKD), without combining marks: "Zoë ﬁ" is "Zoe fi".
std::string without_accents(std::string_view text);

// Each character in lower case, whatever stands beside it: "ΑΣ" is "ας" only as a word, here it is "ασ".
std::string in_lower_case(std::string_view text);

// Empty of an empty text.
std::string_view last_character(std::string_view text);

// The text's beginning of at most so many bytes (4 or more) that no character is cut.
std::string_view whole_characters(std::string_view text, std::size_t most);

// With a space for each character of Unicode's white space that `is_space` says it of.
std::string with_plain_spaces(std::string_view text, const std::function<bool(std::string_view)>& is_space);

// Without Unicode's white space at its end.
std::string_view without_spaces_at_end(std::string_view text);

}  // namespace weft::detail
