/// \file
/// Tokenizers from SentencePiece (Kudo and Richardson 2018, arXiv 1808.06226): "unigram" (Kudo 2018, arXiv 1804.10959),
/// "bpe" (Sennrich et al. 2015, arXiv 1508.07909) and "sentencepiece", a model from elsewhere. They are in a separate
/// library, the CMake target weft::sentencepiece, which exists if SentencePiece was installed when weft was built.
#pragma once
#include <memory>
#include <string>

#include "weft/tokenizer.h"

#pragma GCC visibility push(default)
namespace weft {

/// Adds the three kinds to those that tokenizers and checkpoints can have. It may be called several times, from any
/// thread.
///
/// Decoding with a learned tokenizer restores every text byte by byte, except U+2581, which stands for a space. Texts
/// are encoded line by line, and a line is split every 64 KiB.
void register_sentencepiece();

/// A tokenizer from the bytes of a SentencePiece model file, as other programs write it. Throws an Error unless they
/// are one.
std::shared_ptr<const Tokenizer> sentencepiece_tokenizer(const std::string& model);

}  // namespace weft
#pragma GCC visibility pop
