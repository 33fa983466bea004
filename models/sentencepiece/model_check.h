// Checks for what SentencePiece assumes about a model file: if it is violated, SentencePiece reads beyond its memory.
#pragma once
#include <string_view>

namespace weft::detail {

// Checks a model file's bytes. Throws an Error if these parts are not as SentencePiece writes them.
void check_model(std::string_view bytes);

// Checks a normalizer's precompiled_charsmap: its trie and the strings that it refers to.
void check_charsmap(std::string_view bytes);

}  // namespace weft::detail
