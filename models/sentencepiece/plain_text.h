// Unicode as FNet's tokenizer simplifies it.
#pragma once
#include <string>
#include <string_view>

namespace weft::detail {

// The text, which is UTF-8, in its compatibility decomposition (NFKD), without combining marks: "Zoë ﬁ" is "Zoe fi".
std::string without_accents(std::string_view text);

// Its words, as Python's str.split() finds them, with one space between them.
std::string with_single_spaces(std::string_view text);

}  // namespace weft::detail
