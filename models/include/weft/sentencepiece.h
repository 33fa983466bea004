/// \file
/// Tokenizers from SentencePiece (Kudo and Richardson 2018, arXiv 1808.06226): "unigram" (Kudo 2018, arXiv 1804.10959),
/// "bpe" (Sennrich et al. 2015, arXiv 1508.07909), and "sentencepiece", which reads an existing model. They are in a
/// separate library, the CMake target weft::sentencepiece. The target exists if SentencePiece was installed when weft
/// was built.
#pragma once
#include <memory>
#include <string>

#include "weft/tokenizer.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Registers these three kinds, so that programs can learn such tokenizers and load checkpoints with them. You may call
/// it several times, from any thread.
///
/// Decoding with a learned tokenizer restores every text byte for byte, except U+2581, which stands for a space. Texts
/// are encoded line by line, and a long line is split every 64 KiB.
void register_sentencepiece();

/// Makes a tokenizer from the bytes of a SentencePiece model file, as other programs write it. Throws an Error if the
/// bytes are not such a file.
std::shared_ptr<const Tokenizer> sentencepiece_tokenizer(const std::string& model);

}  // namespace weft
WEFT_PUBLIC_END
