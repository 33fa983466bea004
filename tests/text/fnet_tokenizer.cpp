// Tests of Hugging Face's FNet tokenizer. This file isn't built without SentencePiece.
#include <algorithm>

#include "fnet_tokenizer_support.h"
#include "formats/sentencepiece_model.h"
#include "sentencepiece/plain_text.h"
#include "weft/error.h"

namespace weft::test {

using namespace fnet_pieces;

TEST_CASE("fnet tokenizer: accents, ligatures and other forms of letters become NFKD without marks") {
  using detail::without_accents;
  for (const auto& [text, plain] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"plain ASCII \t\n~", "plain ASCII \t\n~"},
           {"Zoë naïve ÀÖØöøÿ", "Zoe naive AOØoøy"},
           {"e\u0301\u0323x", "ex"},
           {"ﬁ ﬀ ½ ① ™ …", "fi ff 1\u20442 1 TM ..."},
           {"ＡＢ～ 𝐀𝒛𝟘 ｶﾞ", "AB~ Az0 カ"},
           {"\u00a0\u2003", "  "},
           {"\u00a8", " "},
           {"한글 가", "\u1112\u1161\u11ab\u1100\u1173\u11af \u1100\u1161"},
           {"ǆ Ǆ ẛ̣ ΐ", "dz DZ s ι"},
           {"漢字 豈 \U0002F800", "漢字 豈 丽"},
           {"ไทย ก่ नी क़", "ไทย ก न क"},
           {"\U0001F600 \u2581", "\U0001F600 \u2581"}})
    CHECK(without_accents(text) == plain);
}

TEST_CASE("fnet tokenizer: lower case for each character, and spaces at the end") {
  using detail::in_lower_case;
  for (const auto& [text, lower] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"AZ[az]@`{", "az[az]@`{"},
                                                        {"ÀÞ×ß÷ẞ", "àþ×ß÷ß"},
                                                        {"ĀāĂ ŸŽ ǅǄ", "āāă ÿž ǆǆ"},
                                                        {"ΑΣ Σ ς", "ασ σ ς"},
                                                        {"ЀЯ Ѣ Ԯ", "ѐя ѣ ԯ"},
                                                        {"İI ı", "i\u0307i ı"},
                                                        {"\u2126 \u212a \u2160", "ω k ⅰ"},
                                                        {"Ꭰ Ⴀ Ა", "ꭰ ⴀ ა"},
                                                        {"\U00010400 \U0001E921 漢", "\U00010428 \U0001E943 漢"}})
    CHECK(in_lower_case(text) == lower);
  CHECK(detail::without_spaces_at_end("a b \t\n\u00a0\u3000\u2028") == "a b");
  CHECK(detail::without_spaces_at_end(" \n ").empty());
  CHECK(detail::without_spaces_at_end("a\x1c") == "a\x1c");
  CHECK(detail::last_character("aé") == "é");
  CHECK(detail::last_character("").empty());
  CHECK(detail::whole_characters("aé漢", 4) == "aé");
  CHECK(detail::whole_characters("aé漢", 5) == "aé");
  CHECK(detail::whole_characters("aé漢", 6) == "aé漢");
  CHECK(detail::whole_characters("é漢𝄞", 8) == "é漢");
  CHECK(detail::whole_characters("", 4).empty());
}

TEST_CASE("fnet tokenizer: special symbols, spaces, quotation marks") {
  const auto t = tokenizer();
  CHECK(t->kind() == std::string("fnet"));
  const SpecialIds special = t->special();
  CHECK(special.unknown == 0);
  CHECK(special.pad == 3);
  CHECK(special.cls == 4);
  CHECK(special.sep == 5);
  CHECK(special.mask == 6);
  const Ids space = {of_piece("\u2581")};
  CHECK(t->encode("the quick fox") == pieces_of("the quick fox"));
  CHECK(t->encode("  the\tquick \n fox") == pieces_of("the quick fox"));
  CHECK(t->encode("``lazy'' fóx") == pieces_of("\"lazy\" fox"));
  CHECK(t->encode("").empty());
  CHECK(t->encode("the [MASK] fox[SEP]dogs <pad>") ==
        pieces_of("the") + Ids{6} + pieces_of("fox") + Ids{5} + pieces_of("dogs") + space + Ids{3});
  CHECK(t->encode("[CLS][SEP]") == Ids{4, 5});
  CHECK(t->encode("fox<s>dogs</s><unk>") == pieces_of("fox") + Ids{1} + pieces_of("dogs") + Ids{2, 0});
  CHECK_THROWS_AS((void)t->encode("\xFF"), Error);
  CHECK(t->encode("the \u2581fox") == pieces_of("the fox"));
}

// As in transformers' fast tokenizer (bench/interop/fnet_tokenizer.py), such spaces are one piece, unless a special
// symbol includes them.
TEST_CASE("fnet tokenizer: spaces at the end of a text and before special symbols") {
  const auto t = tokenizer();
  const Ids space = {of_piece("\u2581")}, fox = pieces_of("fox");
  for (const char* spaces : {" ", "  ", "\n", " \t", "\u00a0", "\u3000", " \x7f", "\x7f ", "\u2581", " \u0301"}) {
    CAPTURE(spaces);
    CHECK(t->encode(std::string("fox") + spaces) == fox + space);
    CHECK(t->encode(spaces) == space);
    CHECK(t->encode(spaces + std::string("fox")) == fox);
    CHECK(t->encode(std::string("fox") + spaces + "[CLS]") == fox + space + Ids{4});
  }
  for (const char* spaces : {"", " ", " \n\u00a0\u3000"}) {
    CAPTURE(spaces);
    for (const auto& [name, id] : std::vector<std::pair<std::string, std::int64_t>>{{"[MASK]", 6}, {"[SEP]", 5}}) {
      CHECK(t->encode("fox" + (spaces + name)) == fox + Ids{id});
      CHECK(t->encode(spaces + name) == Ids{id});
    }
  }
  CHECK(t->encode("\x7f").empty());
  CHECK(t->encode("fox\x7f") == fox);
  CHECK(t->encode("fox \x7f fox") == fox + fox);
  CHECK(t->encode("[CLS] [CLS]") == Ids{4} + space + Ids{4});
}

TEST_CASE("fnet tokenizer: if special symbols have the same beginning, the longest one wins") {
  for (const bool longer_first : {false, true}) {
    const auto t =
        tokenizer({{"mask_token", longer_first ? "[SEP" : "[SEP]"}, {"sep_token", longer_first ? "[SEP]" : "[SEP"}},
                  "[CLS],[SEP,[SEP]");
    const std::int64_t shorter = 5, longer = 6;
    CHECK(*(longer_first ? t->special().sep : t->special().mask) == longer);
    CHECK(t->encode("[SEP]") == Ids{longer});
    CHECK(t->encode("[SEP") == Ids{shorter});
    CHECK(t->encode("fox[SEP[SEP]fox[SEP") ==
          pieces_of("fox") + Ids{shorter, longer} + pieces_of("fox") + Ids{shorter});
  }
}

TEST_CASE("fnet tokenizer: encoding never uses a piece with a number and a comma") {
  const std::int64_t number = of_piece("\u25811,");
  REQUIRE(pieces_of("over 1,000")[pieces_of("over").size()] == number);
  const Ids ids = tokenizer()->encode("over 1,000");
  const Ids beginning = pieces_of("over 1") + Ids{of_piece(",")};
  REQUIRE(ids.size() > beginning.size());
  CHECK(std::equal(beginning.begin(), beginning.end(), ids.begin()));
  CHECK(tokenizer()->decode(ids) == "over 1,000");
  CHECK(tokenizer()->decode(number) == "1,");
}

TEST_CASE("fnet tokenizer: its settings, ids beyond its pieces, invalid tokenizers") {
  CHECK(tokenizer({{"keep_accents", true}})->encode("fóx") == pieces_of("fóx"));
  CHECK(tokenizer({{"keep_accents", true}})->encode("fóx") != pieces_of("fox"));
  CHECK(tokenizer({{"do_lower_case", true}})->encode("The FÓX") == pieces_of("the fox"));
  CHECK(tokenizer({{"do_lower_case", true}, {"keep_accents", true}})->encode("The FÓX") == pieces_of("the fóx"));
  CHECK(tokenizer()->encode("The") == pieces_of("The"));
  CHECK(tokenizer({{"remove_space", false}})->encode("the  fox") == pieces_of("the fox"));
  const auto named = tokenizer({{"sep_token", "</s>"}, {"mask_token", "nothing"}});
  CHECK(named->special().sep == 2);
  CHECK_FALSE(named->special().mask);
  const std::int64_t size = tokenizer()->size();
  const auto more = tokenizer({{"size", size + 2}});
  CHECK(more->size() == size + 2);
  CHECK(more->decode(size + 1) == "[unused " + std::to_string(size + 1) + "]");
  CHECK_THROWS_AS((void)more->decode(size + 2), Error);
  CHECK_THROWS_WITH((void)tokenizer({{"size", size - 1}}), doctest::Contains("more than the"));
  CHECK_THROWS_AS((void)tokenizer({{"keep_accents", 1}}), Error);
  CHECK_THROWS_AS((void)tokenizer({{"do_lower_case", 1}}), Error);
  CHECK_THROWS_WITH((void)tokenizer({{"model", "AAAA"}}), doctest::Contains("not a SentencePiece model"));
  CHECK_THROWS_AS((void)learn_tokenizer("fnet", "x"), Error);
  for (const auto& t : {tokenizer(), more, named}) CHECK(tokenizer_from_json(t->to_json())->to_json() == t->to_json());
  const auto t = tokenizer();
  CHECK(t->decode(t->encode("the quick fox jumps over dogs")) == "the quick fox jumps over dogs");
}

TEST_CASE("fnet tokenizer: a text may be split where the tokenizer says") {
  const auto t = tokenizer();
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the quick [MASK] brown fóx,  1,000 or 7, ``dogs''\n" + std::to_string(i);
  const Ids whole = t->encode(text);
  for (std::size_t end = 0; end < text.size(); end += 7) {
    const std::size_t cut = t->cut(std::string_view(text).substr(0, end));
    REQUIRE(cut <= end);
    CHECK(t->encode(text.substr(0, cut)) + t->encode(text.substr(cut)) == whole);
  }
  for (const char* hard : {"fox \u0301x  fox", "a\u0301 b\u00a0 c", "fox \x7f fox", "fox\x7f fox",
                           "x [MASK] [CLS] [SEP]  [CLS] y ", "fox \t\n \n dogs \n"}) {
    CAPTURE(hard);
    const std::string all = hard;
    for (std::size_t end = 0; end <= all.size(); ++end) {
      const std::size_t cut = t->cut(std::string_view(all).substr(0, end));
      REQUIRE(cut <= end);
      CHECK(t->encode(all.substr(0, cut)) + t->encode(all.substr(cut)) == t->encode(all));
    }
  }
  CHECK(t->cut("the quick") == 3);
  CHECK(t->cut("the quick \n ") == 9);
  CHECK(t->cut(" quick") == 0);
  CHECK(tokenizer({{"sep_token", "[S P]"}}, "[CLS],[S P],[MASK]")->cut("the quick") == 0);
}

// Up to 65535 bytes, or 21845 of these characters, form one word, which becomes a space and an unknown symbol. Without
// this limit, the time would grow with the square of the length.
TEST_CASE("fnet tokenizer: a long text of unknown characters without a space") {
  const auto t = tokenizer();
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "漢";
  const Ids one = pieces_of("漢"), ids = t->encode(text);
  REQUIRE(one == Ids{of_piece("\u2581"), 0});
  Ids want;
  for (int i = 0; i < 3; ++i) want = want + one;
  CHECK(ids == want);
}

TEST_CASE("fnet tokenizer: many special symbols in a text that contains them many times") {
  std::string text;
  detail::SentencePieceModel made = detail::parse_sentencepiece(model());
  const auto first = std::ssize(made.pieces);
  for (int i = 0; i < 20000; ++i)
    made.pieces.push_back({"[C" + std::to_string(i) + "]", 0, detail::SentencePieceModel::control});
  const auto t = tokenizer({{"model", detail::to_base64(detail::sentencepiece_bytes(made))}});
  Ids want;
  for (int i = 0; i < 20000; ++i) {
    const int name = i * 7919 % 20000;
    text += "[C" + std::to_string(name) + "]";
    want.push_back(first + name);
  }
  CHECK(t->encode(text) == want);
  CHECK(t->encode("[C1[C20000][C12]x") == pieces_of("[C1[C20000]") + Ids{first + 12} + pieces_of("x"));
}

}  // namespace weft::test
