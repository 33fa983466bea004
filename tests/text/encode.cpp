// Tests of encoding texts as tensors, and of no_tokenizer(), which stands for a missing tokenizer.
#include <doctest/doctest.h>

#include "framing_tokenizer.h"
#include "train_support.h"
#include "weft/encoded_text.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("encode_tensor: gives a text's ids in the shape that a model accepts") {
  const Framing tokenizer({0, 3, 1, 4, 2});
  const Tensor ids = encode_tensor(tokenizer, "ab");
  CHECK(ids.shape() == Shape{1, 2});
  CHECK(ids.dtype() == DType::i64);
  CHECK(ids.to_vector<std::int64_t>() == Ids{'a', 'b'});
  CHECK_THROWS_WITH((void)encode_tensor(tokenizer, ""), doctest::Contains("no symbols"));
}

TEST_CASE("encode_rows: adds special symbols, truncates and pads, for classifiers") {
  SpecialIds all;
  all.pad = 3;
  all.cls = 1;
  all.sep = 2;
  const Framing tokenizer(all);
  const auto rows = [&](const std::vector<std::string>& texts, std::int64_t longest, std::int64_t pad_to) {
    return encode_rows(tokenizer, texts, longest, pad_to);
  };
  CHECK(rows({"ab", "c"}, 0, 0).to_vector<std::int64_t>() == Ids{1, 'a', 'b', 2, 1, 'c', 2, 3});
  CHECK(rows({"ab", "c"}, 0, 0).shape() == Shape{2, 4});
  CHECK(rows({"abcd"}, 4, 0).to_vector<std::int64_t>() == Ids{1, 'a', 'b', 2});
  CHECK(rows({"c"}, 6, 5).to_vector<std::int64_t>() == Ids{1, 'c', 2, 3, 3});
  CHECK(rows({""}, 0, 0).to_vector<std::int64_t>() == Ids{1, 2});
  CHECK(rows({"abc"}, 1, 0).to_vector<std::int64_t>() == Ids{1});
  SpecialIds begins = all;
  begins.sep.reset();
  CHECK(encode_rows(Framing(begins), {"abc"}, 3).to_vector<std::int64_t>() == Ids{1, 'a', 'b'});
  CHECK(encode_rows(Framing({}), {"abc", "def"}).to_vector<std::int64_t>() == Ids{'a', 'b', 'c', 'd', 'e', 'f'});
  CHECK_THROWS_WITH((void)encode_rows(Framing({}), {"abc", "d"}), doctest::Contains("no padding"));
  CHECK_THROWS_WITH((void)encode_rows(Framing({}), {""}), doctest::Contains("no symbols"));
  CHECK_THROWS_WITH((void)rows({}, 0, 0), doctest::Contains("at least one text"));
  CHECK_THROWS_AS((void)rows({"a"}, 4, 5), Error);
  CHECK_THROWS_AS((void)rows({"a"}, -1, 0), Error);
}

TEST_CASE("special ids: which ids are special") {
  const SpecialIds all{7, 3, 1, 4, 2};
  for (const std::int64_t id : {1, 2, 3, 4, 7}) CHECK(all.has(id));
  for (const std::int64_t id : {0, 5, 6, 8}) CHECK_FALSE(all.has(id));
  CHECK_FALSE(SpecialIds{}.has(0));
}

TEST_CASE("ids: reads a model's ids unchanged") {
  const auto ids = tokenizer_from_json(R"({"unit":"ids","size":300,"pad":3})");
  CHECK(ids->size() == 300);
  CHECK(ids->special().pad == 3);
  CHECK_FALSE(ids->special().cls);
  CHECK(ids->encode(" 17  0\n299\t") == Ids{17, 0, 299});
  CHECK(ids->encode("").empty());
  CHECK(ids->decode(Ids{17, 0, 299}) == "17 0 299");
  CHECK(tokenizer_from_json(ids->to_json())->to_json() == ids->to_json());
  CHECK_FALSE(tokenizer_from_json(R"({"unit":"ids","size":2})")->special().pad);
  for (const char* wrong : {"300", "-1", "x", "1.5", "99999999999999999999", "1,2"})
    CHECK_THROWS_WITH((void)ids->encode(wrong),
                      doctest::Contains("is not an id from 0 to 299: the model came without"));
  CHECK_THROWS_AS((void)ids->decode(300), Error);
  for (const char* wrong : {R"({"unit":"ids","size":0})", R"({"unit":"ids"})", R"({"unit":"ids","size":2,"pad":2})",
                            R"({"unit":"ids","size":4294967296})"})
    CHECK_THROWS_AS((void)tokenizer_from_json(wrong), Error);
  CHECK_THROWS_AS((void)learn_tokenizer("ids", "1 2"), Error);
  const std::string text = "17 0 299 12 5 ";
  for (std::size_t end = 0; end <= text.size(); ++end) {
    const std::size_t cut = ids->cut(text.substr(0, end));
    REQUIRE(cut <= end);
    Ids both = ids->encode(text.substr(0, cut));
    for (const std::int64_t id : ids->encode(text.substr(cut))) both.push_back(id);
    CHECK(both == ids->encode(text));
  }
}

}  // namespace weft::test
