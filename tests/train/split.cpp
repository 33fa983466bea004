// Tests of labeled texts that are divided at random: by labels, texts and seeds.
#include "weft/split.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "train_support.h"

namespace weft::test {
namespace {

// Rows with alternating labels and different texts.
LabeledTexts rotating(std::int64_t rows, std::int64_t labels) {
  LabeledTexts all;
  for (std::int64_t label = 0; label < labels; ++label) all.names.push_back("label " + std::to_string(label));
  for (std::int64_t row = 0; row < rows; ++row) {
    all.texts.push_back("row " + std::to_string(row));
    all.labels.push_back(row % labels);
  }
  all.format = "lines";
  all.columns = {"text"};
  all.skipped = 3;
  all.several = 2;
  return all;
}

std::vector<std::int64_t> counts(const LabeledTexts& texts) {
  std::vector<std::int64_t> rows(texts.names.size());
  for (const std::int64_t label : texts.labels) ++rows[static_cast<std::size_t>(label)];
  return rows;
}

std::set<std::string> set_of(const LabeledTexts& texts) { return {texts.texts.begin(), texts.texts.end()}; }

bool in_order(const LabeledTexts& texts) {
  return std::is_sorted(texts.texts.begin(), texts.texts.end(), [](const std::string& a, const std::string& b) {
    return std::stoi(a.substr(4)) < std::stoi(b.substr(4));
  });
}

}  // namespace

TEST_CASE("split: alternating labels are held out stratified, for any number of labels") {
  for (const std::int64_t labels : {2, 5, 10, 1000})
    for (const double share : {0.1, 0.25})
      for (const std::uint64_t seed : {0, 7}) {
        CAPTURE(labels);
        CAPTURE(share);
        LabeledTexts rows = rotating(20000, labels);
        const LabeledTexts held = hold_out(rows, share, seed);
        CHECK(held.texts.size() == static_cast<std::size_t>(share * 20000));
        CHECK(rows.texts.size() + held.texts.size() == 20000);
        const auto each = share * 20000 / static_cast<double>(labels);
        for (const std::int64_t count : counts(held)) CHECK(std::abs(static_cast<double>(count) - each) < 1);
        CHECK(absent_labels(held).empty());
        CHECK(absent_labels(rows).empty());
        CHECK(in_order(held));
        CHECK(in_order(rows));
        CHECK(held.names == rows.names);
      }
}

TEST_CASE("split: labels of any size have their share to within one row, and so does the whole") {
  LabeledTexts rows;
  rows.names = {"a", "b", "c", "d"};
  const std::int64_t sizes[] = {1000, 3, 14, 96};
  for (std::int64_t label = 0; label < 4; ++label)
    for (std::int64_t i = 0; i < sizes[label]; ++i) {
      rows.texts.push_back(rows.names[static_cast<std::size_t>(label)] + std::to_string(i));
      rows.labels.push_back(label);
    }
  std::set<std::set<std::string>> seen;
  std::set<std::int64_t> of_few;  // how many rows of the label with three rows are held out
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LabeledTexts kept = rows;
    const LabeledTexts held = hold_out(kept, 0.1, seed);
    CHECK(held.texts.size() == 111);
    const auto count = counts(held);
    for (std::size_t label = 0; label < 4; ++label)
      CHECK(std::abs(static_cast<double>(count[label]) - 111.0 / 1113 * static_cast<double>(sizes[label])) < 1);
    CHECK(seen.insert(set_of(held)).second);
    of_few.insert(count[1]);
    LabeledTexts again = rows;
    CHECK(hold_out(again, 0.1, seed).texts == held.texts);
  }
  CHECK(of_few.size() == 2);  // the labels that get one more row vary
}

TEST_CASE("split: rows with the same text are on the same side, even with other labels") {
  LabeledTexts rows = rotating(300, 3);
  for (std::size_t i = 0; i < 300; ++i) rows.texts[i] = "text " + std::to_string(i * i % 71);
  LabeledTexts kept = rows;
  const LabeledTexts held = hold_out(kept, 0.2, 1);
  CHECK(held.texts.size() + kept.texts.size() == 300);
  for (const std::string& text : set_of(held)) CHECK(set_of(kept).count(text) == 0);
  CHECK(set_of(held).size() == 7);  // a fifth of the 36 texts
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    LabeledTexts rest = rows;
    const LabeledTexts part = take_fold(rest, fold, 5, 1);
    for (const std::string& text : set_of(part)) CHECK(set_of(rest).count(text) == 0);
  }
}

TEST_CASE("split: folds contain each row once and are stratified by label") {
  const LabeledTexts rows = rotating(1003, 10);
  std::multiset<std::string> all;
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    LabeledTexts rest = rows;
    const LabeledTexts part = take_fold(rest, fold, 5, 3);
    CHECK(std::abs(static_cast<double>(part.texts.size()) - 1003 / 5.0) < 1);
    CHECK(rest.texts.size() + part.texts.size() == 1003);
    const auto count = counts(part), whole = counts(rows);
    for (std::size_t label = 0; label < 10; ++label)
      CHECK(std::abs(static_cast<double>(count[label]) - static_cast<double>(whole[label]) / 5) < 1);
    all.insert(part.texts.begin(), part.texts.end());
    CHECK(in_order(part));
  }
  CHECK(all == std::multiset<std::string>(rows.texts.begin(), rows.texts.end()));
}

TEST_CASE("split: at least one text on each side, or an error") {
  LabeledTexts three = rotating(3, 2);
  CHECK(hold_out(three, 0.01, 0).texts.size() == 1);
  CHECK(hold_out(three, 0.99, 0).texts.size() == 1);
  CHECK_THROWS_WITH((void)hold_out(three, 0.5, 0),
                    "[split] expected at least two rows with different texts, so that some can be held out");
  LabeledTexts same = rotating(40, 2);
  for (std::string& text : same.texts) text = "one";
  CHECK_THROWS_AS((void)hold_out(same, 0.5, 0), Error);
  LabeledTexts none;
  CHECK_THROWS_AS((void)hold_out(none, 0.5, 0), Error);
  LabeledTexts rows = rotating(4, 2);
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) CHECK_THROWS_AS((void)hold_out(rows, share, 0), Error);
  CHECK_THROWS_AS((void)take_fold(rows, 0, 1, 0), Error);
  CHECK_THROWS_AS((void)take_fold(rows, 2, 2, 0), Error);
  CHECK_THROWS_AS((void)take_fold(rows, -1, 2, 0), Error);
  CHECK_THROWS_WITH((void)take_fold(rows, 0, 5, 0), "[split] 4 different texts are too few for 5 folds");
  CHECK(rows.texts.size() == 4);
}

TEST_CASE("split: descriptions of the file stay with the training rows, and absent labels are reported") {
  LabeledTexts rows = rotating(30, 3);
  const LabeledTexts held = hold_out(rows, 0.1, 0);
  CHECK(rows.format == "lines");
  CHECK(rows.columns == std::vector<std::string>{"text"});
  CHECK(rows.skipped == 3);
  CHECK(rows.several == 2);
  CHECK(held.format == "lines");
  CHECK(held.skipped == 0);
  LabeledTexts some = rotating(2, 4);
  CHECK(absent_labels(some) == std::vector<std::string>{"label 2", "label 3"});
}

TEST_CASE("split: every tenth row, as an earlier version held out") {
  LabeledTexts rows = small_rows();
  const LabeledTexts held = every_tenth(rows);
  CHECK(rows.labels.size() == 54);
  CHECK(held.labels.size() == 6);
  CHECK(held.names == rows.names);
  CHECK(held.texts.front() == "red green blue and 9");  // the last of each ten rows
  LabeledTexts few = small_rows();
  few.texts.resize(3);
  few.labels.resize(3);
  CHECK(every_tenth(few).texts == std::vector<std::string>{"north south west and 2"});
}

}  // namespace weft::test
