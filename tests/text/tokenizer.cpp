#include "weft/tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "train_support.h"
#include "weft/error.h"
#include "weft/vocabulary.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

std::string message(const std::string& bytes) {
  try {
    (void)characters(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::shared_ptr<const Tokenizer> learned(const std::string& kind, const std::string& text,
                                         std::optional<Task> task = {}) {
  TokenizerOptions options;
  options.task = task;
  return learn_tokenizer(kind, text, options);
}

// Returns the symbols into which the tokenizer splits a text.
Strings symbols(const Tokenizer& tokenizer, const std::string& text) {
  Strings all;
  for (const std::int64_t id : tokenizer.encode(text)) all.push_back(tokenizer.decode(id));
  return all;
}

// A host's own tokenizer, whose symbols are the two halves of each byte.
class Halves : public Tokenizer {
 public:
  const char* kind() const noexcept override { return "halves"; }
  std::int64_t size() const noexcept override { return 16; }
  SpecialIds special() const noexcept override { return {}; }
  using Tokenizer::encode;
  Ids encode(std::string_view text, const TextPlace&) const override {
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

TEST_CASE("tokenizer by characters: code points in order, an unknown symbol, from text to ids and back") {
  const std::string text = "bé a\n€b𝄞";
  const auto t = characters(text);
  CHECK(t->kind() == std::string("characters"));
  CHECK(t->size() == 8);
  CHECK(t->decode(0) == "\n");
  CHECK(t->decode(4) == "é");
  CHECK(t->decode(6) == "𝄞");
  CHECK(t->special().unknown == 7);
  CHECK(t->decode(7) == "[unk]");
  CHECK_FALSE(t->special().mask);
  CHECK_FALSE(t->special().pad);
  CHECK(t->decode(t->encode(text)) == text);
  CHECK(t->encode("azé\U0010FFFF\x01") == Ids{2, 7, 4, 7, 7});
  CHECK_THROWS_AS((void)t->decode(8), Error);
  CHECK_THROWS_AS((void)t->decode(-1), Error);
}

TEST_CASE("tokenizer by characters: the first and last symbols of one, two, three and four bytes") {
  const std::string text = "\x01\x7F\u0080\u07FF\u0800\uFFFF\U00010000\U0010FFFF";
  const auto t = characters(text);
  CHECK(t->size() == 8 + 1);
  CHECK(t->decode(t->encode(text)) == text);
}

TEST_CASE("tokenizer by characters from an earlier version of weft: other characters are an Error") {
  const std::string json = R"({"unit":"characters","characters":"\nabé€𝄞 ","mask":false})";
  const auto t = tokenizer_from_json(json);
  CHECK(t->size() == 7);
  CHECK_FALSE(t->special().unknown);
  CHECK(t->encode("a é") == Ids{2, 1, 4});
  CHECK_THROWS_WITH((void)t->encode("a é c"),
                    "[tokenizer] the character U+0063 at byte 5 is not one of the 7 that the model knows");
  CHECK_THROWS_WITH((void)t->encode("c", {"\"book\"", 7}),
                    "\"book\": the character U+0063 at byte 7 is not one of the 7 that the model knows");
  CHECK_THROWS_AS((void)t->encode("\U0010FFFF"), Error);
  CHECK(t->to_json() == R"({"unit":"characters","characters":"\n abé€𝄞","mask":false})");  // keeps the original format
}

TEST_CASE("tokenizer by characters: special symbols for each task, and the most frequent characters") {
  const auto masked = characters("abc", Task::masked_lm);
  CHECK(masked->size() == 5);
  CHECK(masked->special().unknown == 3);
  CHECK(masked->special().mask == 4);
  CHECK(masked->decode(4) == "[mask]");
  CHECK(*masked != *characters("abc"));
  const auto rows = characters("abc", Task::classifier);
  CHECK(rows->size() == 6);
  CHECK(rows->special().pad == 0);
  CHECK(rows->special().unknown == 1);
  CHECK(rows->special().cls == 2);
  CHECK_FALSE(rows->special().mask);
  CHECK(rows->encode("cz") == Ids{5, 1});
  const auto any = learned("characters", "abc");
  CHECK(any->special().cls == 2);
  CHECK(any->special().mask == 6);
  TokenizerOptions options;
  options.task = Task::causal_lm;
  options.size = 3;
  const auto few = learn_tokenizer("characters", std::string("xzzyzyw"), options);
  CHECK(few->size() == 3);
  CHECK(few->encode("xyzw") == Ids{2, 0, 1, 2});
}

TEST_CASE("tokenizer by bytes: every byte, in order") {
  const auto t = learned("bytes", "", Task::causal_lm);
  CHECK(t->size() == 256);
  CHECK(t->encode("a\xFF") == Ids{97, 255});
  CHECK(t->encode(std::string_view("\0", 1)) == Ids{0});
  CHECK(t->takes_any_bytes());
  CHECK_FALSE(t->special().unknown);
  CHECK(t->decode(t->encode("naïve\n")) == "naïve\n");
  CHECK_THROWS_AS((void)t->decode(256), Error);
  CHECK_THROWS_AS((void)t->decode(-1), Error);
  const auto any = learned("bytes", "");
  CHECK(any->size() == 260);
  CHECK(any->encode("a") == Ids{100});
  CHECK(any->decode(any->encode("\xFF")) == "\xFF");
  CHECK(any->decode({0, 1, 2, 259}) == "[pad][unk][cls][mask]");
  CHECK(any->special().mask == 259);
  CHECK(learned("bytes", "", Task::masked_lm)->special().mask == 256);
}

TEST_CASE("an error for invalid UTF-8 names the byte") {
  CHECK(message("abc").empty());
  CHECK(message("ab\xFF") == "[tokenizer] invalid UTF-8 at byte 2");
  // An overlong encoding, a surrogate, a number above U+10FFFF, and a continuation byte without a lead byte.
  for (const char* bad : {"é\xC0\x80", "é\xED\xA0\x80", "é\xF4\x90\x80\x80", "é\x80", "é\xF0\x80\x80\x80", "é\xFFxx"})
    CHECK(message(bad) == "[tokenizer] invalid UTF-8 at byte 2");
  for (const char* cut : {"é\xE2\x82", "é\xF0\x9F\x98", "é\xF0", "é\xC3"})
    CHECK(message(cut) == "[tokenizer] invalid UTF-8 at byte 2: the text ends within a character");
  CHECK(message("\xFF\xFEw\1") ==
        "[tokenizer] invalid UTF-8 at byte 0: it looks like UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)");
  const std::string far = std::string(100, 'x') + "\xC3\xA9";
  CHECK_NOTHROW(check_utf8(far + far, {}));
  for (std::size_t at : {0, 7, 8, 15, 16, 99})
    CHECK_THROWS_WITH(
        check_utf8(std::string(far).replace(at, 1, "\x90"), {"\"file\"", 1000}),
        doctest::Contains(("\"file\": invalid UTF-8 at byte " + std::to_string(1000 + at) + " (is it").c_str()));
  for (const char* kind : {"words", "wordpunct", "whitespace"}) {
    CHECK_THROWS_WITH((void)learned(kind, "fine ab\xFF"), "[tokenizer] invalid UTF-8 at byte 7");
    CHECK_THROWS_WITH((void)learned(kind, "fine")->encode("ab\xFF"), "[tokenizer] invalid UTF-8 at byte 2");
  }
}

TEST_CASE("tokenizer by words: frequency, then alphabet, limits, case") {
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
  const Strings rare = {"a a b b c"};
  CHECK(words(rare, 0, 2)->size() == 5);
  CHECK(words(rare, 4)->decode(3) == "a");
  CHECK(words(rare, 4)->size() == 4);
  const auto masked = learned("words", "a b", Task::masked_lm);
  CHECK(masked->size() == 6);
  CHECK(masked->special().mask == 5);
}

TEST_CASE("tokenizers that keep words unchanged: with marks and brackets, or separated by white space") {
  const std::string text = " It's (not) [MAX 2 9]:\tZoë – “so”!\r\n";
  const auto marks = learned("wordpunct", text);
  CHECK(symbols(*marks, text) ==
        Strings{"It", "'", "s", "(", "not", ")", "[", "MAX", "2", "9", "]", ":", "Zoë", "–", "“", "so", "”", "!"});
  CHECK(symbols(*marks, "a\u00A0b¿no?") == Strings{"[unk]", "[unk]", "[unk]", "[unk]", "[unk]"});
  CHECK(marks->decode(marks->encode("not [9")) == "not [ 9");
  const auto spaces = learned("whitespace", text);
  CHECK(symbols(*spaces, text) == Strings{"It's", "(not)", "[MAX", "2", "9]:", "Zoë", "–", "“so”!"});
  CHECK(symbols(*spaces, "not (not)") == Strings{"[unk]", "(not)"});
  // The text contains the name of a special symbol.
  CHECK(symbols(*learned("whitespace", "[pad] a [mask]"), "[mask] a [pad]") == Strings{"[mask]", "a", "[pad]"});
}

TEST_CASE("a million different words: the rarest words are forgotten") {
  std::string text;
  for (int i = 0; i < 1000010; ++i) {
    text += std::to_string(i) + " ";
    if (i % 1000 == 0) text += "often often ";
  }
  const auto t = learned("whitespace", text);
  CHECK(t->size() < 20);
  CHECK(t->decode(3) == "often");
}

TEST_CASE("a text may be split where a tokenizer says, with the same ids") {
  const std::string text = small_text() + "naïve (2nd) – [x]\n";
  for (const std::string kind : {"characters", "bytes", "words", "wordpunct", "whitespace"}) {
    CAPTURE(kind);
    const auto t = learned(kind, text);
    const Ids whole = t->encode(text);
    std::size_t cuts = 0;
    for (std::size_t end = 0; end <= text.size(); ++end) {
      const std::size_t cut = t->cut(std::string_view(text).substr(0, end));
      REQUIRE(cut <= end);
      cuts += cut == end;
      Ids ids = t->encode(std::string_view(text).substr(0, cut));
      const Ids rest = t->encode(std::string_view(text).substr(cut));
      ids.insert(ids.end(), rest.begin(), rest.end());
      CHECK(ids == whole);
    }
    CHECK(cuts > text.size() / 10);
    CHECK(t->cut("abc\n") == 4);
  }
  CHECK(Halves().cut("abc\n") == 0);
}

TEST_CASE("tokenizer: conversion to JSON and back") {
  std::vector<std::shared_ptr<const Tokenizer>> all = {characters(std::string("a\0\"\\é\n", 7))};
  const std::vector<std::optional<Task>> tasks = {{}, Task::causal_lm, Task::masked_lm, Task::classifier};
  for (const char* kind : {"characters", "bytes", "words", "wordpunct", "whitespace"})
    for (const auto& task : tasks) all.push_back(learned(kind, "one two, two", task));
  for (const auto& t : all) {
    const auto back = tokenizer_from_json(t->to_json());
    CHECK(*back == *t);
    CHECK(back->kind() == std::string(t->kind()));
    CHECK(back->size() == t->size());
    CHECK(back->special().mask == t->special().mask);
    CHECK(back->special().unknown == t->special().unknown);
    CHECK(back->encode("one two") == t->encode("one two"));
  }
  for (const char* bad :
       {"", "{}", "[]", R"({"unit":"syllables"})", R"({"unit":1})", R"({"unit":"words","words":["a","a"]})",
        R"({"unit":"words","words":[1]})", R"({"unit":"words","words":["[pad]"]})",
        R"({"unit":"characters","characters":"ab"})", R"({"unit":"characters","characters":"aa","mask":false})",
        R"({"unit":"characters","characters":"ab","mask":false,"unknown":1})", R"({"unit":"bytes"})"})
    CHECK_THROWS_AS((void)tokenizer_from_json(bad), Error);
  CHECK_THROWS_WITH((void)tokenizer_from_json(R"({"unit":"syllables"})"),
                    doctest::Contains("unknown kind \"syllables\", expected one of characters, bytes, words"));
}

TEST_CASE("tokenizer: a custom kind") {
  register_tokenizer(halves_kind("halves"));
  CHECK_THROWS_WITH(register_tokenizer(halves_kind("halves")), "[tokenizer] the name \"halves\" is taken");
  CHECK_THROWS_AS(register_tokenizer(halves_kind("")), Error);
  CHECK_THROWS_AS(register_tokenizer({"other", "", nullptr, nullptr}), Error);
  const Strings kinds = tokenizer_kinds();
  CHECK(std::count(kinds.begin(), kinds.end(), "halves") == 1);
  const auto t = learned("halves", "any");
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
  CHECK_THROWS_WITH((void)Vocabulary::of_symbols({"a", "b", "a"}), "[vocabulary] symbol \"a\" occurs twice");
}

}  // namespace weft::test
