// What SentencePiece takes on trust in a model file, and reads beyond its memory if it isn't so.
#pragma once
#include <string_view>

namespace weft::detail {

// Of a model file's bytes. Error if anything of that is not as SentencePiece writes it.
void check_model(std::string_view bytes);

// Of a normalizer's precompiled_charsmap: its trie and the strings that it leads to.
void check_charsmap(std::string_view bytes);

}  // namespace weft::detail
