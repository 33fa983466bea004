// Tests of forged models with which SentencePiece would read outside its memory. This file isn't built without
// SentencePiece.
#include "fnet_tokenizer_support.h"
#include "formats/sentencepiece_model.h"
#include "sentencepiece/model_check.h"
#include "train_support.h"
#include "weft/error.h"

namespace weft::test {

using namespace fnet_pieces;

namespace {

// A trie of the keys "a", "aa", …. Each key has a block of 256 units, which holds its leaf and, at 'a', the next key.
struct Trie {
  explicit Trie(std::uint32_t keys) : units(256 * (keys + 1), 0x80000000) {
    for (std::uint32_t key = 0; key <= keys; ++key) {
      const std::uint32_t place = key == 0 ? 0 : 256 * (key - 1) + 'a', base = 256 * key;
      units[place] = (place ^ base) << 10 | (key > 0 ? 0x100 | 'a' : 0);
      if (key > 0) units[base] = 0x80000000;  // "x"
    }
  }

  std::string bytes(const std::string& strings = std::string("x\0yz\0", 5)) const {
    const auto size = static_cast<std::uint32_t>(4 * units.size());
    std::string all(4 + size, '\0');
    std::memcpy(all.data(), &size, 4);
    std::memcpy(all.data() + 4, units.data(), size);
    return all + strings;
  }

  std::vector<std::uint32_t> units;
};

std::string refusal(const std::string& charsmap) {
  return error_of([&] { detail::check_charsmap(charsmap); });
}

// A field of a protocol buffer, with at most 16,383 bytes.
std::string field(int number, const std::string& bytes) {
  std::string out = {static_cast<char>(number << 3 | 2), static_cast<char>((bytes.size() & 0x7f) | 0x80),
                     static_cast<char>(bytes.size() >> 7)};
  return out + bytes;
}

}  // namespace

TEST_CASE("forged models of SentencePiece: a trie of characters whose paths stay inside it is accepted") {
  CHECK(refusal("") == "");
  CHECK(refusal(detail::parse_sentencepiece(model()).characters) == "");
  CHECK(refusal(Trie(1).bytes()) == "");
  CHECK(refusal(Trie(32).bytes()) == "");
  Trie loop(1);  // follows "b" any number of times, without a key
  loop.units[256 + 'b'] = 'b' << 10 | 'b';
  CHECK(refusal(loop.bytes()) == "");
}

TEST_CASE("forged models of SentencePiece: a trie with paths that leave the trie or its strings is refused") {
  const auto says = [](const std::string& charsmap, const std::string& what) {
    CAPTURE(what);
    CHECK(refusal(charsmap).find("precompiled_charsmap") != std::string::npos);
    CHECK(refusal(charsmap).find(what) != std::string::npos);
  };
  const std::string whole = Trie(1).bytes();
  says("abc", "expected a trie of blocks of 1024 bytes, and strings, got a trie of 0 bytes in 3");
  says(std::string("\xfc\x03\0\0", 4) + whole.substr(4), "got a trie of 1020 bytes");
  says(whole.substr(0, 2051), "got a trie of 2048 bytes in 2051");
  says(std::string(4, '\0') + whole.substr(4), "got a trie of 0 bytes");
  const std::string ones = std::string("\0\4\0\0", 4) + std::string(1024, '\xff') + std::string("abc\0", 4);
  says(ones, "expected only paths to units below 256, got a path to unit 1073741568");
  says(Trie(1).bytes(""), "expected a zero at the end of its strings");
  says(Trie(1).bytes("x"), "expected a zero at the end of its strings");
  says(Trie(1).bytes(std::string("\xff\0", 2)), "invalid UTF-8 at byte 0");
  Trie trie(1);
  trie.units[256] = 0x80000005;
  says(trie.bytes(), "expected the first byte of a character in 5 bytes of strings, got byte 5");
  trie.units[256] = 0xffffffff;
  says(trie.bytes(), "got byte 2147483647");
  trie.units[256] = 0x80000001;
  says(trie.bytes(std::string("é\0", 3)), "got byte 1");
  CHECK(refusal(trie.bytes()) == "");
  trie.units['a'] = ('a' ^ 512) << 10 | 'a';
  says(trie.bytes(), "expected only paths to units below 512, got a path to unit 512");
  says(Trie(33).bytes(), "expected at most 32 keys that are prefixes of one text, got more");
  Trie loop(1);  // follows "b" any number of times
  loop.units[256 + 'b'] = 'b' << 10 | 0x100 | 'b';
  says(loop.bytes(), "expected at most 32 keys that are prefixes of one text, got more");
  Trie back(1);  // leads back to the root, as a child for the byte 0
  back.units[0] |= 0x100;
  says(back.bytes(), "got byte " + std::to_string(0x100));
}

TEST_CASE("forged models of SentencePiece: every function that reads models refuses them") {
  register_sentencepiece();
  detail::SentencePieceModel made = detail::parse_sentencepiece(model());
  Trie trie(1);
  trie.units[256] = 0xffffffff;
  const std::string forged = trie.bytes();
  made.characters = forged;
  const std::string twice = field(3, field(2, Trie(1).bytes()) + field(2, forged));
  for (const std::string& bytes :
       {detail::sentencepiece_bytes(made), model() + twice, model() + field(5, field(2, forged))}) {
    CHECK_THROWS_WITH_AS((void)sentencepiece_tokenizer(bytes), doctest::Contains("got byte 2147483647"), Error);
    for (const char* unit : {"fnet", "unigram", "sentencepiece"}) {
      const Json json{{"unit", unit}, {"model", detail::to_base64(bytes)}};
      CHECK_THROWS_WITH_AS((void)tokenizer_from_json(json.dump()), doctest::Contains("got byte 2147483647"), Error);
    }
  }
  made.characters = Trie(32).bytes();
  const auto good = sentencepiece_tokenizer(detail::sentencepiece_bytes(made));
  CHECK(good->encode(std::string(40, 'a')) == good->encode("xaaaaaaaa"));
  // The key has upper bits that other readers drop, so that they read field 3.
  CHECK_THROWS_WITH((void)sentencepiece_tokenizer(model() + std::string("\x9a\x80\x80\x80\x10\0", 6)),
                    doctest::Contains("not a SentencePiece model"));
}

TEST_CASE(
    "forged models of SentencePiece: pieces that are too long for its stack, or too many that are prefixes of one "
    "another") {
  using detail::SentencePieceModel;
  register_sentencepiece();
  const auto with = [](const std::vector<SentencePieceModel::Piece>& pieces) {
    SentencePieceModel made = detail::parse_sentencepiece(model());
    made.pieces.insert(made.pieces.end(), pieces.begin(), pieces.end());
    return sentencepiece_tokenizer(detail::sentencepiece_bytes(made));
  };
  CHECK(with({{std::string(1024, 'z')}})->encode(std::string(1024, 'z')).size() == 2);
  for (const std::size_t size : {1025, 1000000})
    CHECK_THROWS_WITH_AS((void)with({{std::string(size, 'z')}}),
                         doctest::Contains(("expected at most 1024 bytes, got " + std::to_string(size)).c_str()),
                         Error);
  std::vector<SentencePieceModel::Piece> nested = {{"qq", 0, SentencePieceModel::user_defined}};
  for (std::size_t size = 64; size > 0; --size)
    nested.push_back({std::string(size, '#'), 0, SentencePieceModel::user_defined});
  CHECK(with(nested)->encode(std::string(64, '#')).size() == 2);
  nested.push_back({std::string(65, '#'), 0, SentencePieceModel::user_defined});
  CHECK_THROWS_WITH_AS((void)with(nested),
                       doctest::Contains("expected at most 64 that are prefixes of one text, got more"), Error);
  nested.back().kind = (std::int64_t{1} << 32) + SentencePieceModel::user_defined;
  CHECK_THROWS_WITH_AS((void)with(nested),
                       doctest::Contains("expected at most 64 that are prefixes of one text, got more"), Error);
}

}  // namespace weft::test
