#include "formats/sentencepiece_model.h"

#include <string_view>

#include "base/sentencepiece_format.h"
#include "weft/detail/byte_order.h"

namespace weft::detail {
namespace {

SentencePieceModel::Piece parse_piece(std::string_view bytes) {
  SentencePieceModel::Piece piece;
  for (ProtobufReader in(bytes); in.next();) {
    if (in.field == piece_name) piece.name = in.text;
    if (in.field == piece_score) piece.score = in.real();
    if (in.field == piece_kind) piece.kind = static_cast<std::int64_t>(in.number);
  }
  return piece;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put(std::string& out, SentencePieceField field, std::int64_t number) {
  put_varint(out, field << 3 | protobuf_varint);
  put_varint(out, static_cast<std::uint64_t>(number));
}

void put(std::string& out, SentencePieceField field, const std::string& text) {
  put_varint(out, field << 3 | protobuf_bytes);
  put_varint(out, text.size());
  out += text;
}

void put(std::string& out, SentencePieceField field, float real) {
  put_varint(out, field << 3 | protobuf_fixed32);
  char bytes[sizeof real];
  put_number(bytes, real);
  out.append(bytes, sizeof real);
}

}  // namespace

SentencePieceModel parse_sentencepiece(const std::string& bytes) {
  SentencePieceModel model;
  for (ProtobufReader in(bytes); in.next();) {
    if (in.field == model_piece) model.pieces.push_back(parse_piece(in.text));
    if (in.field == model_trainer)
      for (ProtobufReader trainer(in.text); trainer.next();) {
        if (trainer.field == trainer_type) model.type = static_cast<std::int64_t>(trainer.number);
        if (trainer.field == trainer_unknown_id) model.unknown_id = static_cast<std::int64_t>(trainer.number);
      }
    if (in.field == model_normalizer)
      for (ProtobufReader normalizer(in.text); normalizer.next();) {
        if (normalizer.field == normalizer_characters) model.characters = normalizer.text;
        if (normalizer.field == normalizer_prefix) model.spaces = normalizer.number == 0;
      }
  }
  if (model.pieces.empty()) throw Error("[tokenizer] the data are not a SentencePiece model: there are no pieces");
  return model;
}

std::string sentencepiece_bytes(const SentencePieceModel& model) {
  std::string all, trainer, normalizer;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    std::string one;
    put(one, piece_name, piece.name);
    put(one, piece_score, piece.score);
    put(one, piece_kind, piece.kind);
    put(all, model_piece, one);
  }
  put(trainer, trainer_type, model.type);
  put(trainer, trainer_unknown_id, model.unknown_id);
  put(normalizer, normalizer_characters, model.characters);
  for (const SentencePieceField field : {normalizer_prefix, normalizer_strips})
    if (model.spaces) put(normalizer, field, std::int64_t{0});
  put(all, model_trainer, trainer);
  put(all, model_normalizer, normalizer);
  return all;
}

}  // namespace weft::detail
