// Tests of SentencePiece tokenizers. This file isn't built without SentencePiece.
#include "weft/sentencepiece.h"

#include <doctest/doctest.h>
#include <sentencepiece_trainer.h>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/encoded_text.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

std::shared_ptr<const Tokenizer> learned_pieces(const std::string& kind, const std::string& text,
                                                std::int64_t size = 400) {
  register_sentencepiece();
  TokenizerOptions options;
  options.size = size;
  return learn_tokenizer(kind, text, options);
}

// A model with the default settings of SentencePiece.
std::string small_foreign_model() {
  struct Lines : sentencepiece::SentenceIterator {
    bool done() const override { return left == 0; }
    void Next() override { --left; }
    const std::string& value() const override { return line; }
    sentencepiece::util::Status status() const override { return {}; }
    std::string line = "the quick brown fox jumps";
    int left = 100;
  } lines;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      {{"vocab_size", "30"}, {"hard_vocab_limit", "false"}, {"minloglevel", "2"}}, &lines, &model);
  REQUIRE(status.ok());
  return model;
}

// Words with common parts, because unigram doesn't learn parts that occur in only one word.
std::string varied_text() {
  std::string text;
  for (const char* stem : {"light", "dark", "warm", "cold", "quick", "strong", "clear", "deep"})
    for (const char* end : {"", "er", "est", "ly", "ness", "ening"}) text += std::string(stem) + end + " and ";
  return text + text + "Zoë\n";
}

}  // namespace

TEST_CASE("unigram and bpe restore every text byte by byte") {
  for (const char* kind : {"unigram", "bpe"}) {
    CAPTURE(kind);
    const auto t = learned_pieces(kind, varied_text());
    CHECK(t->kind() == std::string(kind));
    CHECK(t->size() <= 400);
    CHECK(t->size() > 260);
    CHECK(t->special().pad == 0);
    CHECK(t->special().unknown == 1);
    CHECK(t->special().cls == 2);
    CHECK(t->special().mask == 3);
    CHECK(t->encode(varied_text()).size() * 3 < varied_text().size() * 2);
    for (const std::string& text : {small_text(), std::string("\n\n  two  spaces \n\t"),
                                    std::string("Zoë 漢字 𝄞 a\0b", 20), std::string(200000, 'q'), std::string("")})
      CHECK(t->decode(t->encode(text)) == text);
    CHECK_THROWS_WITH((void)t->encode("ab\xFF"), "[tokenizer] invalid UTF-8 at byte 2");
    CHECK_THROWS_AS((void)t->decode(t->size()), Error);
    CHECK_THROWS_AS((void)t->decode(-1), Error);
    CHECK((t->to_json() == learned_pieces(kind, varied_text())->to_json()));  // learning always gives the same result
  }
}

TEST_CASE("unigram and bpe: a text may be split where they say, even within long lines") {
  std::string text = small_text();
  for (int i = 0; i < 30000; ++i) text += "fox " + std::to_string(i % 13);  // without line breaks
  text += "\n" + std::string(150000, 'x') + "ü\n" + small_text();
  for (const char* kind : {"unigram", "bpe"}) {
    CAPTURE(kind);
    const auto t = learned_pieces(kind, small_text());
    const Ids whole = t->encode(text);
    for (std::size_t end = 0; end <= text.size(); end += end < 3000 ? 61 : 20011) {
      const std::size_t cut = t->cut(std::string_view(text).substr(0, end));
      REQUIRE(cut <= end);
      if (end > 70000) CHECK(end - cut <= 1 << 16);
      Ids ids = t->encode(std::string_view(text).substr(0, cut));
      const Ids rest = t->encode(std::string_view(text).substr(cut));
      ids.insert(ids.end(), rest.begin(), rest.end());
      CHECK(ids == whole);
    }
    const TemporaryFolder folder;
    std::string megabytes;
    for (int i = 0; i < 4; ++i) megabytes += text;
    folder.write("text", megabytes);
    const EncodedText file = EncodedText::of_file(folder / "text", *t, folder / "ids", 0);
    const Ids want = t->encode(megabytes);
    Ids ids(static_cast<std::size_t>(file.size()));
    file.copy(0, file.size(), ids.data());
    CHECK(ids == want);
  }
}

TEST_CASE("unigram and bpe: long bytes that are not UTF-8 and have no line breaks are split anywhere, and refused") {
  const auto t = learned_pieces("bpe", small_text());
  const std::string bytes(200000, '\x80');
  for (const std::string& before : {std::string(), std::string("a"), std::string("a line\n")}) {
    const std::string text = before + bytes;
    const std::size_t cut = t->cut(text);
    CHECK(cut > before.size());
    CHECK(cut <= text.size());
    CHECK_THROWS_WITH((void)t->encode(text),
                      ("[tokenizer] invalid UTF-8 at byte " + std::to_string(before.size())).c_str());
  }
  const TemporaryFolder folder;
  folder.write("text", bytes + "\n" + std::string(3000000, ' '));
  CHECK_THROWS_AS((void)EncodedText::of_file(folder / "text", *t), Error);
}

TEST_CASE("unigram and bpe: JSON, also in a checkpoint, and damaged JSON") {
  const auto t = learned_pieces("bpe", small_text());
  const auto back = tokenizer_from_json(t->to_json());
  CHECK(*back == *t);
  CHECK(back->encode(small_text()) == t->encode(small_text()));
  const TemporaryFolder folder;
  const TextData data(small_text(), t, Task::causal_lm, 16, 4);
  const auto model = small_model("gmlp", Task::causal_lm, t->size(), 0, {});
  save_checkpoint(folder / "run", *model, *t);
  CHECK(*load_checkpoint(folder / "run").tokenizer == *t);

  const std::string json = t->to_json();
  for (const std::string& model_text :
       {std::string(""), std::string("x"), std::string("===="), std::string("AAAA"), std::string("YWJjZA==")})
    CHECK_THROWS_AS((void)tokenizer_from_json(R"({"unit":"bpe","model":")" + model_text + "\"}"), Error);
  CHECK_THROWS_AS((void)tokenizer_from_json(json.substr(0, json.size() / 2) + "\"}"), Error);
  CHECK_THROWS_AS((void)tokenizer_from_json(R"({"unit":"bpe"})"), Error);
}

TEST_CASE("unigram and bpe: models that can't be learned") {
  CHECK_THROWS_WITH((void)learned_pieces("bpe", ""), "[tokenizer] there is no text to learn bpe from");
  CHECK_THROWS_WITH((void)learned_pieces("unigram", "\n\n"), "[tokenizer] there is no text to learn unigram from");
  CHECK_THROWS_WITH((void)learned_pieces("bpe", small_text(), 100),
                    doctest::Contains("can't learn bpe of 100 symbols: the bytes, the special symbols and"));
  CHECK_THROWS_WITH((void)learned_pieces("bpe", "a\xFF"), "[tokenizer] invalid UTF-8 at byte 1");
  CHECK_THROWS_WITH((void)learned_pieces("sentencepiece", "a"), doctest::Contains("learn bpe or unigram"));
  CHECK_THROWS_WITH((void)sentencepiece_tokenizer("no model"),
                    doctest::Contains("[tokenizer] the data are not a SentencePiece model"));
}

TEST_CASE("a SentencePiece model that adds a space before each line") {
  register_sentencepiece();
  const auto t = sentencepiece_tokenizer(small_foreign_model());
  CHECK(t->kind() == std::string("sentencepiece"));
  CHECK(t->decode(t->encode("the quick fox")) == "the quick fox");
  CHECK_FALSE(t->special().mask);
  CHECK_FALSE(t->special().pad);
  CHECK(t->special().unknown == 0);
  CHECK(*tokenizer_from_json(t->to_json()) == *t);
}

}  // namespace weft::test
