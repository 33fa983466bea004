// SentencePiece models in their file format (base/sentencepiece_format.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weft::detail {

struct SentencePieceModel {
  enum Kind : std::int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string name;
    float score = 0;
    std::int64_t kind = normal;
  };
  static constexpr std::int64_t unigram = 1;

  std::vector<Piece> pieces;
  std::int64_t type = unigram, unknown_id = 0;
  // If true, spaces are not changed. If false, a space is put before the text, several spaces become one, and spaces at
  // the beginning and end of the text are dropped.
  bool spaces = false;
  std::string characters;  // precompiled_charsmap, the replacements of characters; empty if there are none
};

// Throws an Error unless the bytes are a protocol buffer with at least one piece. Fields that SentencePieceModel
// doesn't have are ignored.
SentencePieceModel parse_sentencepiece(const std::string& bytes);

std::string sentencepiece_bytes(const SentencePieceModel& model);

}  // namespace weft::detail
