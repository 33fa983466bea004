#include "weft/tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "train_support.h"
#include "weft/error.h"
#include "weft/vocabulary.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

std::string message(const std::string& bytes) {
  try {
    (void)characters(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A host's own: each byte's two halves.
class Halves : public Tokenizer {
 public:
  const char* kind() const noexcept override { return "halves"; }
  std::int64_t size() const noexcept override { return 16; }
  SpecialIds special() const noexcept override { return {}; }
  Ids encode(std::string_view text) const override {
    Ids ids;
    for (const char c : text)
      for (int shift : {4, 0}) ids.push_back(static_cast<unsigned char>(c) >> shift & 15);
    return ids;
  }
  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override { return "<" + std::to_string(id) + ">"; }
  std::string to_json() const override { return R"({"unit":"halves"})"; }
};

TokenizerKind halves_kind(const std::string& name) {
  return {name, "halves of bytes", [](const auto&, const auto&) { return std::make_shared<Halves>(); },
          [](const auto&) { return std::make_shared<Halves>(); }};
}

}  // namespace

TEST_CASE("tokenizer by characters: code points in order, text and ids") {
  const std::string text = "bé a\n€b𝄞";
  const auto t = characters(text);
  CHECK(t->kind() == std::string("characters"));
  CHECK(t->size() == 7);
  CHECK(t->decode(0) == "\n");
  CHECK(t->decode(4) == "é");
  CHECK(t->decode(6) == "𝄞");
  CHECK(t->decode(t->encode(text)) == text);
  CHECK_THROWS_AS((void)t->decode(7), Error);
  CHECK_THROWS_AS((void)t->decode(-1), Error);
  CHECK_FALSE(t->special().mask);
  CHECK_THROWS_WITH((void)t->encode("a é c"),
                    "[tokenizer] the character U+0063 at byte 5 is not one of the 7 that the model knows");
  CHECK_THROWS_AS((void)t->encode("\U0010FFFF"), Error);
}

TEST_CASE("tokenizer with a mask symbol") {
  const auto t = characters("abc", Task::masked_lm);
  CHECK(t->size() == 4);
  CHECK(t->special().mask == 3);
  CHECK(t->decode(3) == "[mask]");
  CHECK_THROWS_AS((void)t->decode(4), Error);
  CHECK(*t != *characters("abc"));
}

TEST_CASE("invalid UTF-8 names the byte") {
  CHECK(message("abc").empty());
  CHECK(message("ab\xFF") == "[tokenizer]: invalid UTF-8 at byte 2");
  // Overlong, surrogate, beyond U+10FFFF, cut off, a continuation without a lead.
  for (const char* bad : {"é\xC0\x80", "é\xED\xA0\x80", "é\xF4\x90\x80\x80", "é\xE2\x82", "é\x80", "é\xF0\x80\x80\x80"})
    CHECK(message(bad) == "[tokenizer]: invalid UTF-8 at byte 2");
  CHECK_THROWS_WITH((void)words({"fine", "ab\xFF"}), "[tokenizer]: invalid UTF-8 at byte 2");
}

TEST_CASE("tokenizer by words: frequency, then alphabet; limits; case") {
  const auto t = words({"The cat, the CAT!", "a dog; the 2nd naïve dog"});
  const std::int64_t unknown = *t->special().unknown;
  CHECK(t->size() == 3 + 6);
  CHECK(t->special().pad == 0);
  CHECK(unknown == 1);
  CHECK(t->special().cls == 2);
  CHECK(t->decode(3) == "the");
  CHECK(t->decode(4) == "cat");
  CHECK(t->decode(5) == "dog");
  CHECK(t->encode("Dog THE zebra") == Ids{5, 3, unknown});
  CHECK(t->decode({5, 3, unknown}) == "dog the [unk]");
  CHECK(t->encode("naïve") == Ids{8});
  CHECK(t->encode(" -- ").empty());
  const std::vector<std::string> rare = {"a a b b c"};
  CHECK(words(rare, 0, 2)->size() == 5);
  CHECK(words(rare, 4)->decode(3) == "a");
  CHECK(words(rare, 4)->size() == 4);
}

TEST_CASE("tokenizer: JSON and back") {
  for (const auto& t : {characters(std::string("a\0\"\\é\n", 7)), characters("xy", Task::masked_lm),
                        words({std::string("one two two")})})
    CHECK(*tokenizer_from_json(t->to_json()) == *t);
  for (const char* bad :
       {"", "{}", "[]", R"({"unit":"syllables"})", R"({"unit":1})", R"({"unit":"words","words":["a","a"]})",
        R"({"unit":"words","words":[1]})", R"({"unit":"characters","characters":"ab"})"})
    CHECK_THROWS_AS((void)tokenizer_from_json(bad), Error);
  CHECK_THROWS_WITH((void)tokenizer_from_json(R"({"unit":"syllables"})"),
                    doctest::Contains("unknown kind \"syllables\", expected one of characters, words"));
}

TEST_CASE("tokenizer: a kind of a program's own") {
  register_tokenizer(halves_kind("halves"));
  CHECK_THROWS_WITH(register_tokenizer(halves_kind("halves")), "[tokenizer] the name \"halves\" is taken");
  CHECK_THROWS_AS(register_tokenizer(halves_kind("")), Error);
  CHECK_THROWS_AS(register_tokenizer({"other", "", nullptr, nullptr}), Error);
  const std::vector<std::string> kinds = tokenizer_kinds();
  CHECK(std::count(kinds.begin(), kinds.end(), "halves") == 1);
  const auto t = learn_tokenizer("halves", std::string("any"));
  CHECK(t->encode("A") == Ids{4, 1});
  CHECK(t->decode({4, 1}) == "<4><1>");
  CHECK(*tokenizer_from_json(t->to_json()) == *t);
}

TEST_CASE("vocabulary: symbols and ids") {
  const Vocabulary v = Vocabulary::of_symbols({"b", "a", ""});
  CHECK(v.size() == 3);
  CHECK(v.find("a") == 1);
  CHECK(v.find("") == 2);
  CHECK_FALSE(v.find("c"));
  CHECK(v.symbol(0) == "b");
  CHECK_THROWS_AS((void)v.symbol(3), Error);
  CHECK_THROWS_AS((void)v.symbol(-1), Error);
  CHECK_THROWS_WITH((void)Vocabulary::of_symbols({"a", "b", "a"}), "[vocabulary] symbol \"a\" comes twice");
}

}  // namespace weft::test
