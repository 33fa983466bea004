// Tests of the steps that a tokenizer.json applies to a text. This file isn't built without SentencePiece.
#include <doctest/doctest.h>

#include "formats/sentencepiece_model.h"
#include "huggingface_tokenizer_support.h"

namespace weft::test {

using namespace fnet_pieces;

namespace {

// Encodes a text as SentencePiece does if all spaces are kept and none is added.
Ids pieces_with_spaces(const std::string& text) {
  detail::SentencePieceModel made = detail::parse_sentencepiece(model());
  made.spaces = true;
  sentencepiece::SentencePieceProcessor processor;
  REQUIRE(processor.LoadFromSerializedProto(detail::sentencepiece_bytes(made)).ok());
  std::vector<int> ids;
  REQUIRE(processor.Encode(text, &ids).ok());
  return {ids.begin(), ids.end()};
}

}  // namespace

TEST_CASE("Hugging Face FNet: tokenizer.json as transformers 5 writes it, for each pipeline, with round trips") {
  for (const std::string pipeline : {"words", "pieces", "spaces"}) {
    CAPTURE(pipeline);
    Alone alone(tokenizer({{"do_lower_case", true}}));
    pass_through(alone.json, pipeline);
    const auto check = [&](const Tokenizer& t) {
      const std::string text = " The  quick\t``F\u00d3X'' ", more = "  over 1,000 \u6f22 ";
      Ids want = pieces_of("the quick \"fox\""), rest = pieces_of("over 1,000 \u6f22");
      if (pipeline == "pieces") want = pieces_of("The quick ``F\u00d3X''");
      if (pipeline == "spaces") want = pieces_with_spaces(text), rest = pieces_with_spaces(more);
      CHECK(t.encode(text) == want);
      CHECK(t.encode(text + "[MASK]" + more) == want + Ids{6} + rest);
      CHECK(t.encode(text + "[SEP]" + more + "<s>") == want + Ids{5} + rest + Ids{1});
      CHECK(t.encode("").empty());
      CHECK(t.encode(" ").empty() == (pipeline != "spaces"));
      if (pipeline == "words") CHECK(t.encode("the\u0085fox") == pieces_of("the fox"));
      std::string all;
      for (int i = 0; i < 30; ++i) all += text + more;
      const std::size_t cut = t.cut(all);
      CHECK(t.encode(all.substr(0, cut)) + t.encode(all.substr(cut)) == t.encode(all));
    };
    check(*alone.read());
    const Checkpoint read = load_checkpoint(alone.path);
    const bool notes = std::any_of(read.info.notes.begin(), read.info.notes.end(), [](const std::string& note) {
      return note == "tokenizer.json adds no special symbols to rows; weft adds [CLS] and [SEP], as in FNet's training";
    });
    CHECK(notes == (pipeline != "words"));
    (void)save_checkpoint_as("huggingface-fnet", alone.folder / "back", read);
    const Json back = Json::parse(alone.folder.read("back/tokenizer.json"));
    for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "model", "added_tokens"})
      CHECK(back[key] == alone.json[key]);
    CHECK_FALSE(std::filesystem::exists(alone.folder / "back/spiece.model"));
    check(*load_checkpoint(alone.folder / "back").tokenizer);
    save_checkpoint(alone.folder / "own", *read.model, *read.tokenizer);
    check(*load_checkpoint(alone.folder / "own").tokenizer);
  }
  // The class uses the second piece as the unknown piece, whatever its name.
  Alone alone(tokenizer());
  pass_through(alone.json, "words");
  alone.json["model"]["unk_id"] = 1;
  const auto t = alone.read();
  CHECK(t->encode("\u6f22") == Ids{of_piece("\u2581"), 1});
  CHECK(t->encode("the<s><unk>") == pieces_of("the") + Ids{1, 0});
  CHECK_THROWS_WITH((void)tokenizer({{"pipeline", "other"}}), doctest::Contains("expected albert, words or pieces"));
}

}  // namespace weft::test
