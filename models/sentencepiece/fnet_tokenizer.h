// The kind "fnet": Hugging Face's tokenizer of FNet, a model of SentencePiece with what is done before and after it.
#pragma once
#include "weft/tokenizer.h"

namespace weft::detail {

TokenizerKind fnet_tokenizer_kind();

}  // namespace weft::detail
