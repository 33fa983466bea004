#include "weft/vocabulary.h"

#include <doctest/doctest.h>

#include "weft/error.h"

namespace weft::test {
namespace {

std::string message(const std::string& bytes) {
  try {
    (void)Vocabulary::of_characters(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("vocabulary by characters: code points in order, text and ids") {
  const std::string text = "bé a\n€b𝄞";
  const Vocabulary v = Vocabulary::of_characters(text);
  CHECK(v.size() == 7);
  CHECK(v.decode(0) == "\n");
  CHECK(v.decode(4) == "é");
  CHECK(v.decode(6) == "𝄞");
  std::string back;
  for (auto id : v.encode(text)) back += v.decode(id);
  CHECK(back == text);
  CHECK_THROWS_AS((void)v.decode(7), Error);
  CHECK_THROWS_AS((void)v.mask(), Error);
  CHECK_THROWS_WITH((void)v.encode("a é c"),
                    "[vocabulary] the character U+0063 at byte 5 is not one of the 7 that the model knows");
}

TEST_CASE("vocabulary: the first and last symbols of one, two, three and four bytes") {
  const std::string text = "\x01\x7F\u0080\u07FF\u0800\uFFFF\U00010000\U0010FFFF";
  const Vocabulary v = Vocabulary::of_characters(text);
  CHECK(v.size() == 8);
  std::string back;
  for (auto id : v.encode(text)) back += v.decode(id);
  CHECK(back == text);
}

TEST_CASE("vocabulary with a mask symbol") {
  const Vocabulary v = Vocabulary::of_characters("abc", true);
  CHECK(v.size() == 4);
  CHECK(v.mask() == 3);
  CHECK(v.decode(3) == "[mask]");
  CHECK(v != Vocabulary::of_characters("abc"));
}

TEST_CASE("invalid UTF-8 names the byte") {
  CHECK(message("abc").empty());
  CHECK(message("ab\xFF") == "[vocabulary]: invalid UTF-8 at byte 2");
  // Overlong, surrogate, beyond U+10FFFF, cut off, a continuation without a lead.
  for (const char* bad : {"é\xC0\x80", "é\xED\xA0\x80", "é\xF4\x90\x80\x80", "é\xE2\x82", "é\x80", "é\xF0\x80\x80\x80"})
    CHECK(message(bad) == "[vocabulary]: invalid UTF-8 at byte 2");
  CHECK_THROWS_WITH((void)Vocabulary::of_words({"fine", "ab\xFF"}), "[vocabulary]: invalid UTF-8 at byte 2");
}

TEST_CASE("vocabulary by words: frequency, then alphabet; limits; case") {
  const Vocabulary v = Vocabulary::of_words({"The cat, the CAT!", "a dog; the 2nd naïve dog"}, 0, 1);
  CHECK(v.size() == 3 + 6);
  CHECK(v.decode(3) == "the");
  CHECK(v.decode(4) == "cat");
  CHECK(v.decode(5) == "dog");
  CHECK(v.encode("Dog THE zebra") == std::vector<std::int32_t>{5, 3, Vocabulary::unknown});
  CHECK(v.encode("naïve") == std::vector<std::int32_t>{8});
  CHECK(v.encode(" -- ").empty());
  CHECK(Vocabulary::of_words({"a a b b c"}, 0, 2).size() == 5);
  CHECK(Vocabulary::of_words({"a a b b c"}, 4).decode(3) == "a");
  CHECK(Vocabulary::of_words({"a a b b c"}, 4).size() == 4);
}

TEST_CASE("vocabulary: JSON and back") {
  for (const Vocabulary& v : {Vocabulary::of_characters(std::string("a\0\"\\é\n", 7)),
                              Vocabulary::of_characters("xy", true), Vocabulary::of_words({"one two two"})})
    CHECK(Vocabulary::from_json(v.to_json()) == v);
  for (const char* bad : {"", "{}", "[]", R"({"unit":"bytes"})", R"({"unit":"words","words":["a","a"]})",
                          R"({"unit":"words","words":[1]})", R"({"unit":"characters","characters":"ab"})"})
    CHECK_THROWS_AS((void)Vocabulary::from_json(bad), Error);
}

}  // namespace weft::test
