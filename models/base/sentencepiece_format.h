// Reads SentencePiece model files. Such a file is a protocol buffer that contains the message ModelProto of
// sentencepiece_model.proto. In the wire format, a field is a varint of 8 · number + type, followed by its value
// (https://protobuf.dev/programming-guides/encoding).
#pragma once
#include <cstdint>
#include <string_view>

#include "weft/detail/byte_order.h"
#include "weft/error.h"

namespace weft::detail {

enum ProtobufType : std::uint64_t {
  protobuf_varint = 0,
  protobuf_fixed64 = 1,
  protobuf_bytes = 2,
  protobuf_fixed32 = 5
};

// Field numbers of ModelProto and of its messages SentencePiece, TrainerSpec and NormalizerSpec. The denormalizer is
// also a NormalizerSpec.
enum SentencePieceField : std::uint64_t {
  model_piece = 1,
  model_trainer = 2,
  model_normalizer = 3,
  model_denormalizer = 5,
  piece_name = 1,
  piece_score = 2,
  piece_kind = 3,
  trainer_type = 3,
  trainer_unknown_id = 40,
  normalizer_characters = 2,
  normalizer_prefix = 3,
  normalizer_strips = 4
};

class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view bytes) : rest_(bytes) {}

  // Reads the next field, and returns false at the end. The field's value is then in `number` or `text`. Keys have at
  // most 32 bits, because other readers drop the higher bits.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = read_varint();
    if (key > UINT32_MAX) fail();
    field = key >> 3;
    number = 0;
    text = {};
    switch (key & 7) {
      case protobuf_varint: number = read_varint(); break;
      case protobuf_fixed64: text = take(8); break;
      case protobuf_fixed32: text = take(4); break;
      case protobuf_bytes: text = take(read_varint()); break;
      default: fail();
    }
    return true;
  }

  float real() const {
    if (text.size() != sizeof(float)) fail();
    return number_from<float>(text.data());
  }

  std::uint64_t field = 0, number = 0;
  std::string_view text;

 private:
  [[noreturn]] static void fail() {
    throw Error("[tokenizer] the data are not a SentencePiece model, or are truncated");
  }

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

}  // namespace weft::detail
