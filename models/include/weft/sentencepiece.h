/// \file
/// Tokenizers of SentencePiece (Kudo and Richardson 2018, arXiv 1808.06226): "unigram" (Kudo 2018, arXiv 1804.10959),
/// "bpe" (Sennrich et al. 2015, arXiv 1508.07909) and "sentencepiece", a model from elsewhere. A library of its own,
/// the CMake target weft::sentencepiece, which is there where weft was built beside SentencePiece.
#pragma once
#include <memory>
#include <string>

#include "weft/tokenizer.h"

#pragma GCC visibility push(default)
namespace weft {

/// Adds the three kinds to those that tokenizers and checkpoints can be of. Once or more often, from any thread.
///
/// What they learn gives back every text byte by byte (but for U+2581, which stands for a space), line by line; a line
/// is cut every 64 KiB.
void register_sentencepiece();

/// From the bytes of a model file of SentencePiece, as other programs write it. Error unless they are one.
std::shared_ptr<const Tokenizer> sentencepiece_tokenizer(const std::string& model);

}  // namespace weft
#pragma GCC visibility pop
