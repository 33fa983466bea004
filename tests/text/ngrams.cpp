// Tests of words and their n-grams, which are hashed to buckets.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "contains.h"
#include "op_table.h"
#include "train_support.h"
#include "weft/tokenizer.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

std::shared_ptr<const Tokenizer> ngrams(std::int64_t shortest, std::int64_t longest, std::int64_t words = 1,
                                        std::int64_t size = 1 << 20) {
  TokenizerOptions options;
  options.size = size;
  options.min_characters = shortest;
  options.max_characters = longest;
  options.max_words = words;
  return learn_tokenizer("ngrams", std::string("a"), options);
}

bool has(const Ids& all, std::int64_t id) { return std::count(all.begin(), all.end(), id) > 0; }

}  // namespace

TEST_CASE("ngrams: a word is followed by its parts, from left to right") {
  const auto words = ngrams(1, 0), parts = ngrams(2, 3);
  CHECK(words->encode("One, two ONE!").size() == 3);
  CHECK(words->encode("One, two ONE!")[0] == words->encode("one")[0]);  // converts to lower case and drops punctuation
  CHECK(words->encode("").empty());
  CHECK(words->encode(" ,.").empty());
  const Ids ab = parts->encode("ab");  // ab; <a <ab ab ab> b>
  CHECK(ab.size() == 6);
  CHECK(std::set<std::int64_t>(ab.begin(), ab.end()).size() == 6);  // the word's id differs from that of its n-gram
  const Ids other = parts->encode("xab");
  CHECK(ab[0] == words->encode("ab")[0]);
  CHECK_FALSE(has(other, ab[0]));
  CHECK_FALSE(has(other, ab[1]));         // <a
  CHECK(has(other, ab[3]));               // ab
  CHECK(has(other, ab[4]));               // ab>
  CHECK(parts->encode("é").size() == 4);  // é; <é, <é>, é>: its two bytes count as one character
  CHECK(has(parts->encode("caé"), parts->encode("é")[3]));
}

TEST_CASE("ngrams: n-grams of words, in order") {
  const auto two = ngrams(1, 0, 2), three = ngrams(1, 0, 3);
  const Ids abc = three->encode("a b c");  // a; b, ab; c, bc, abc
  REQUIRE(abc.size() == 6);
  CHECK(two->encode("a b c") == Ids{abc[0], abc[1], abc[2], abc[3], abc[4]});
  CHECK(has(two->encode("x a b"), abc[2]));
  CHECK_FALSE(has(two->encode("b a"), abc[2]));
  CHECK_FALSE(has(two->encode("a x b"), abc[2]));
  CHECK(std::set<std::int64_t>(abc.begin(), abc.end()).size() == 6);
}

TEST_CASE("ngrams: ids are in range, unchanged by JSON, and spread over the buckets") {
  const auto small = ngrams(2, 4, 2, 103);
  CHECK(small->size() == 103);
  std::set<std::int64_t> used;
  for (int i = 0; i < 100; ++i)
    for (const std::int64_t id : small->encode("word" + std::to_string(i) + " and " + std::to_string(i * i))) {
      CHECK((id >= 3 && id < 103));
      used.insert(id);
    }
  CHECK(used.size() == 100);
  const auto again = tokenizer_from_json(small->to_json());
  CHECK(again->to_json() == small->to_json());
  CHECK(again->encode("one two") == small->encode("one two"));
  CHECK(small->special().cls == 2);
  CHECK(small->special().pad == 0);
  CHECK(small->decode(2) == "[cls]");
  CHECK(small->decode(7) == "[4]");
  CHECK_THROWS_AS((void)small->decode(103), Error);
  // The buckets of existing checkpoints must not change.
  std::string now;
  for (const std::int64_t id : ngrams(2, 3, 2)->encode("ab c")) now += std::to_string(id) + " ";
  CHECK(now == "260266 1009394 273653 27190 645975 216115 174621 1010554 557367 240612 185552 ");
}

TEST_CASE("ngrams: invalid sizes and texts") {
  CHECK(contains(error_of([] { (void)ngrams(3, 2); }), "the shortest first"));
  CHECK_THROWS_AS((void)ngrams(0, 2), Error);
  CHECK_THROWS_AS((void)ngrams(2, 33), Error);
  CHECK_THROWS_AS((void)ngrams(2, 4, 0), Error);
  CHECK_THROWS_AS((void)ngrams(2, 4, 9), Error);
  CHECK_THROWS_AS((void)ngrams(2, 4, 1, 3), Error);
  CHECK(contains(error_of([] { (void)ngrams(2, 4)->encode("a\xFF"); }), "UTF-8"));
  for (const Task task : {Task::causal_lm, Task::masked_lm, Task::tagging})
    CHECK(contains(error_of([&] { (void)learn_tokenizer("ngrams", std::string("a"), {task}); }),
                   "n-grams are for tasks with one output for each text"));
  CHECK_THROWS_AS((void)tokenizer_from_json(R"({"unit":"ngrams"})"), Error);
  CHECK_THROWS_AS(
      (void)tokenizer_from_json(R"({"unit":"ngrams","buckets":0,"min_characters":2,"max_characters":4,"max_words":1})"),
      Error);
}

}  // namespace weft::test
