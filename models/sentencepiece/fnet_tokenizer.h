// The kind "fnet": Hugging Face's tokenizer for FNet, a SentencePiece model with additional steps before and after it.
#pragma once
#include "weft/tokenizer.h"

namespace weft::detail {

TokenizerKind fnet_tokenizer_kind();

}  // namespace weft::detail
