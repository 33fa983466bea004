// The kinds of tokenizers that weft provides. Each one has a file of its name. To add one, add a line to the table in
// tokenizer.cpp.
#pragma once
#include "weft/tokenizer.h"

namespace weft::detail {

TokenizerKind characters_kind();
TokenizerKind bytes_kind();
TokenizerKind words_kind();
TokenizerKind wordpunct_kind();
TokenizerKind whitespace_kind();
TokenizerKind ngrams_kind();
TokenizerKind ids_kind();

}  // namespace weft::detail
