// Models of SentencePiece as their files have them (base/sentencepiece_format.h).
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
  bool spaces =
      false;  // they stay as they are; else one is put before the text, several are one, those at its ends none
  std::string characters;  // precompiled_charsmap: what characters become; empty: themselves
};

// Error unless the bytes are a protocol buffer of at least one piece. What isn't above is left out.
SentencePieceModel parse_sentencepiece(const std::string& bytes);

std::string sentencepiece_bytes(const SentencePieceModel& model);

}  // namespace weft::detail
