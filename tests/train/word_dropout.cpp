// Tests of word dropout: which symbols of a row become unknown in training.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <set>

#include "train_support.h"
#include "weft/classifier_data.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

// 24 different rows of 2 to 17 words, "r3w0 r3w1 …".
LabeledTexts telling_rows() {
  LabeledTexts rows;
  rows.names = {"even", "odd"};
  for (int r = 0; r < 24; ++r) {
    std::string text;
    for (int w = 0; w < 2 + r * 5 % 16; ++w) text += " r" + std::to_string(r) + "w" + std::to_string(w);
    rows.texts.push_back(text.substr(1));
    rows.labels.push_back(r % 2);
  }
  return rows;
}

// Returns row `row` of a batch without padding.
Ids row_of(const Batch& batch, std::int64_t row, std::int64_t pad) {
  const Ids all = batch.tokens.to_vector<std::int64_t>();
  const std::int64_t n = batch.tokens.size(1);
  Ids ids(all.begin() + row * n, all.begin() + (row + 1) * n);
  while (!ids.empty() && ids.back() == pad) ids.pop_back();
  return ids;
}

}  // namespace

TEST_CASE("word dropout: the expected share of words becomes unknown, varying each time, but not [cls] and padding") {
  const LabeledTexts rows = telling_rows();
  const auto v = words(rows.texts);
  const SpecialIds special = v->special();
  for (const Padding padding : {Padding::full, Padding::exact})
    for (const double p : {0.0, 0.3, 0.9}) {
      CAPTURE(p);
      const ClassifierData data(rows, rows, v, 20, 6, padding, p), without(rows, rows, v, 20, 6, padding);
      std::int64_t dropped = 0, all = 0, first_dropped = 0, last_dropped = 0, came = 0;
      std::map<Ids, std::set<Ids>> seen;            // the versions of each row
      for (std::int64_t k = 0; k < 4 * 100; ++k) {  // 100 epochs
        const Batch batch = data.training(k, Random(3)), same = without.training(k, Random(3));
        REQUIRE(batch.tokens.shape() == same.tokens.shape());
        CHECK(batch.predicted == 6);
        CHECK(batch.lengths == same.lengths);
        CHECK(batch.target.to_vector<std::int64_t>() == same.target.to_vector<std::int64_t>());
        for (std::int64_t r = 0; r < 6; ++r) {
          const Ids ids = row_of(batch, r, *special.pad), whole = row_of(same, r, *special.pad);
          REQUIRE(ids.size() == whole.size());
          CHECK(ids[0] == special.cls);
          for (std::size_t i = 1; i < ids.size(); ++i) {
            CHECK((ids[i] == whole[i] || ids[i] == special.unknown));
            dropped += ids[i] == special.unknown;
            ++all;
          }
          ++came;
          first_dropped += ids[1] == special.unknown;
          last_dropped += ids.back() == special.unknown;
          if (whole.size() > 8) seen[whole].insert(ids);
        }
      }
      CHECK(static_cast<double>(dropped) / static_cast<double>(all) == doctest::Approx(p).epsilon(0.03));
      for (const std::int64_t end : {first_dropped, last_dropped})
        CHECK(static_cast<double>(end) / static_cast<double>(came) == doctest::Approx(p).epsilon(0.1));
      CHECK(seen.size() > 10);
      for (const auto& [whole, kinds] : seen) CHECK((p == 0 ? kinds.size() == 1 : kinds.size() > 10));
    }
}

TEST_CASE("word dropout: the same seed and batch drop the same symbols, and validation drops none") {
  const LabeledTexts rows = telling_rows();
  const auto v = words(rows.texts);
  for (const Padding padding : {Padding::full, Padding::exact}) {
    const ClassifierData all(rows, rows, v, 20, 6, padding), some(rows, rows, v, 20, 6, padding, 0.5);
    const auto drawn = [&](std::int64_t k, std::uint64_t seed) {
      return some.training(k, Random(seed)).tokens.to_vector<std::int64_t>();
    };
    CHECK(drawn(5, 1) == drawn(5, 1));
    CHECK(drawn(5, 1) != drawn(5, 2));
    REQUIRE(some.validation_batches() == all.validation_batches());
    for (std::int64_t k = 0; k < all.validation_batches(); ++k)
      CHECK(some.validation(k).tokens.to_vector<std::int64_t>() == all.validation(k).tokens.to_vector<std::int64_t>());
    CHECK(some.fingerprint() != all.fingerprint());
    CHECK(some.fingerprint() != ClassifierData(rows, rows, v, 20, 6, padding, 0.25).fingerprint());
    CHECK(ClassifierData(rows, rows, v, 20, 6, padding, 0).fingerprint() == all.fingerprint());
  }
}

TEST_CASE("word dropout: batches of one row drop the same symbols as larger batches") {
  const LabeledTexts rows = telling_rows();
  const auto v = words(rows.texts);
  const ClassifierData one(rows, rows, v, 20, 1, Padding::full, 0.5), three(rows, rows, v, 20, 3, Padding::full, 0.5);
  for (std::int64_t k = 0; k < 12; ++k) {
    const Batch batch = three.training(k, Random(8));
    for (std::int64_t r = 0; r < 3; ++r)
      CHECK(row_of(batch, r, *v->special().pad) == row_of(one.training(3 * k + r, Random(8)), 0, *v->special().pad));
  }
}

// Each letter is a symbol. The ids 0 … 4 are special symbols, of which a tokenizer may have some.
class Letters : public Tokenizer {
 public:
  explicit Letters(SpecialIds special) : special_(special) {}
  const char* kind() const noexcept override { return "letters"; }
  std::int64_t size() const noexcept override { return 31; }
  SpecialIds special() const noexcept override { return special_; }
  std::vector<std::int64_t> encode(std::string_view text, const TextPlace&) const override {
    Ids ids;
    for (const char c : text) ids.push_back(5 + c - 'a');
    return ids;
  }
  std::string decode(std::int64_t id) const override { return {static_cast<char>('a' + id - 5)}; }
  std::string to_json() const override { return R"({"unit":"letters"})"; }

 private:
  SpecialIds special_;
};

TEST_CASE("word dropout: unknown symbols, or masks if there are none, never [sep], and an error without both") {
  LabeledTexts rows;
  rows.names = {"a", "b"};
  rows.texts = {"abcdefgh", "abc"};
  rows.labels = {0, 1};
  for (const std::optional<std::int64_t> unknown : {std::optional<std::int64_t>(4), std::optional<std::int64_t>()}) {
    const auto v = std::make_shared<Letters>(SpecialIds{unknown, 3, 2, 1, 0});
    const ClassifierData data(rows, rows, v, 12, 2, Padding::full, 0.5);
    std::int64_t dropped = 0;
    for (std::int64_t k = 0; k < 50; ++k) {
      const Batch batch = data.training(k, Random(3));
      for (std::int64_t r = 0; r < 2; ++r) {
        const Ids ids = row_of(batch, r, 3);
        REQUIRE((ids.size() == 10 || ids.size() == 5));
        CHECK(ids.front() == 2);
        CHECK(ids.back() == 0);
        for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
          const bool kept = ids[i] == static_cast<std::int64_t>(4 + i);
          CHECK((kept || ids[i] == unknown.value_or(1)));
          dropped += !kept;
        }
      }
    }
    CHECK(dropped > 200);  // of 550
    CHECK(dropped < 350);
  }
  const auto none = std::make_shared<Letters>(SpecialIds{{}, 3, 2, {}, 0});
  CHECK_NOTHROW((void)ClassifierData(rows, rows, none, 12, 2));
  CHECK_THROWS_WITH(
      (void)ClassifierData(rows, rows, none, 12, 2, Padding::full, 0.5),
      "[classifier] word dropout needs a tokenizer with an unknown symbol or a mask; this tokenizer, letters, "
      "has neither");
  for (const double p : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_WITH((void)ClassifierData(rows, rows, none, 12, 2, Padding::full, p),
                      doctest::Contains("expected a word dropout of at least 0 and below 1, got"));
}

}  // namespace weft::test
