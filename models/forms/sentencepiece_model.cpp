// The wire format: https://protobuf.dev/programming-guides/encoding. A field is a varint of 8 · number + type, and its value.
#include "forms/sentencepiece_model.h"

#include <cstring>
#include <string_view>

#include "weft/error.h"

namespace weft::detail {
namespace {

enum Wire : std::uint64_t { varint = 0, fixed64 = 1, bytes_of_length = 2, fixed32 = 5 };

// Of ModelProto, and of its messages SentencePiece, TrainerSpec and NormalizerSpec.
enum Field : std::uint64_t {
  model_piece = 1,
  model_trainer = 2,
  model_normalizer = 3,
  piece_name = 1,
  piece_score = 2,
  piece_kind = 3,
  trainer_type = 3,
  trainer_unknown_id = 40,
  normalizer_characters = 2
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // False at the end. Then the field's value is in one of the three.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = read_varint();
    field = key >> 3;
    number = 0;
    text = {};
    switch (key & 7) {
      case varint: number = read_varint(); break;
      case fixed64: text = take(8); break;
      case fixed32: text = take(4); break;
      case bytes_of_length: text = take(read_varint()); break;
      default: fail();
    }
    return true;
  }

  float real() const {
    if (text.size() != sizeof(float)) fail();
    float value = 0;
    std::memcpy(&value, text.data(), sizeof value);  // little-endian there and here
    return value;
  }

  std::uint64_t field = 0, number = 0;
  std::string_view text;

 private:
  [[noreturn]] static void fail() { throw Error("[tokenizer] not a model of SentencePiece, or cut short"); }

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  std::string_view rest_;
};

SentencePieceModel::Piece parse_piece(std::string_view bytes) {
  SentencePieceModel::Piece piece;
  for (Reader in(bytes); in.next();) {
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

void put(std::string& out, Field field, std::int64_t number) {
  put_varint(out, field << 3 | varint);
  put_varint(out, static_cast<std::uint64_t>(number));
}

void put(std::string& out, Field field, const std::string& text) {
  put_varint(out, field << 3 | bytes_of_length);
  put_varint(out, text.size());
  out += text;
}

void put(std::string& out, Field field, float real) {
  put_varint(out, field << 3 | fixed32);
  char bytes[sizeof real];
  std::memcpy(bytes, &real, sizeof real);
  out.append(bytes, sizeof real);
}

}  // namespace

SentencePieceModel parse_sentencepiece(const std::string& bytes) {
  SentencePieceModel model;
  for (Reader in(bytes); in.next();) {
    if (in.field == model_piece) model.pieces.push_back(parse_piece(in.text));
    if (in.field == model_trainer)
      for (Reader trainer(in.text); trainer.next();) {
        if (trainer.field == trainer_type) model.type = static_cast<std::int64_t>(trainer.number);
        if (trainer.field == trainer_unknown_id) model.unknown_id = static_cast<std::int64_t>(trainer.number);
      }
    if (in.field == model_normalizer)
      for (Reader normalizer(in.text); normalizer.next();)
        if (normalizer.field == normalizer_characters) model.characters = normalizer.text;
  }
  if (model.pieces.empty()) throw Error("[tokenizer] not a model of SentencePiece: it has no pieces");
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
  put(all, model_trainer, trainer);
  put(all, model_normalizer, normalizer);
  return all;
}

}  // namespace weft::detail
