// Checks the assumptions that SentencePiece makes about a model file. If they are violated, SentencePiece reads outside
// its memory.
#pragma once
#include <string_view>

namespace weft::detail {

// Checks the bytes of a model file. Throws an Error if SentencePiece can't read them safely.
void check_model(std::string_view bytes);

// Checks a normalizer's precompiled_charsmap: its trie and the strings that it refers to.
void check_charsmap(std::string_view bytes);

}  // namespace weft::detail
