// A tokenizer of Hugging Face's FNet with a small SentencePiece model.
#pragma once
#include <doctest/doctest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/base64.h"
#include "weft/sentencepiece.h"
#include "weft/tokenizer.h"

namespace weft::test::fnet_pieces {

using Ids = std::vector<std::int64_t>;
using Json = nlohmann::ordered_json;

// The model's first pieces are those of google/fnet-base: <unk>, <s>, </s>, <pad>, [CLS], [SEP], [MASK]. `control` can
// replace the last three with other control symbols.
inline const char* const usual_control = "[CLS],[SEP],[MASK]";
inline const std::string& model(const std::string& control = usual_control) {
  static std::map<std::string, std::string> all;
  std::string& bytes = all[control];
  if (!bytes.empty()) return bytes;
  struct Lines : sentencepiece::SentenceIterator {
    bool done() const override { return at == 300; }
    void Next() override {
      ++at;
      line = "the quick brown fox, number " + std::to_string(at % 29) + ", jumps over 7, 9 or 1,000 \"lazy\" dogs";
    }
    const std::string& value() const override { return line; }
    sentencepiece::util::Status status() const override { return {}; }
    int at = 0;
    std::string line = "the quick";
  } lines;
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"vocab_size", "90"},
                                                                  {"hard_vocab_limit", "false"},
                                                                  {"pad_id", "3"},
                                                                  {"control_symbols", control},
                                                                  {"num_threads", "1"},
                                                                  {"minloglevel", "2"}},
                                                                 &lines, &bytes);
  REQUIRE(status.ok());
  return bytes;
}

inline std::shared_ptr<const Tokenizer> tokenizer(const Json& settings = Json::object(),
                                                  const std::string& control = usual_control) {
  register_sentencepiece();
  Json all{{"unit", "fnet"}, {"model", detail::to_base64(model(control))}};
  all.update(settings);
  return tokenizer_from_json(all.dump());
}

// Returns the ids that SentencePiece itself computes.
inline Ids pieces_of(const std::string& text) {
  sentencepiece::SentencePieceProcessor processor;
  REQUIRE(processor.LoadFromSerializedProto(model()).ok());
  std::vector<int> ids;
  REQUIRE(processor.Encode(text, &ids).ok());
  return {ids.begin(), ids.end()};
}

inline std::int64_t of_piece(const std::string& name) {
  sentencepiece::SentencePieceProcessor processor;
  REQUIRE(processor.LoadFromSerializedProto(model()).ok());
  REQUIRE_FALSE(processor.IsUnknown(processor.PieceToId(name)));
  return processor.PieceToId(name);
}

inline Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace weft::test::fnet_pieces
