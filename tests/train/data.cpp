#include "weft/data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

// Returns the tokens that are predicted in validation, in order.
Ids predicted(const Data& data) {
  Ids all;
  for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
    const Batch batch = data.validation(k);
    std::int64_t count = 0;
    for (std::int64_t t : batch.target.to_vector<std::int64_t>())
      if (t != -100) all.push_back(t), ++count;
    CHECK(count == batch.predicted);
  }
  return all;
}

}  // namespace

TEST_CASE("the validation set is the last tenth, and each of its characters is predicted once") {
  const std::string text = small_text();
  const auto v = characters(text);
  const auto ids = v->encode(text);
  const auto split = static_cast<std::ptrdiff_t>(ids.size() - ids.size() / 10);
  for (std::int64_t length : {1, 7, 16, 50})
    for (std::int64_t batch : {1, 3, 100}) {
      CHECK(predicted(TextData(text, v, Task::causal_lm, length, batch)) == Ids(ids.begin() + split + 1, ids.end()));
      CHECK(predicted(TextData(text, v, Task::causal_lm, length, batch, TextSplit{0, 100})) ==
            Ids(ids.begin() + 1, ids.end()));
    }
}

TEST_CASE("a text is divided by position into training, validation and test sets, where the test set is the rest") {
  const std::string text = small_text();
  const auto v = characters(text);
  const auto ids = v->encode(text);
  const auto count = static_cast<std::int64_t>(ids.size());
  const TextSplit split = text_split("80/10/10");
  CHECK(split.rest() == 10);
  const auto at = [&](std::int64_t place) { return ids.begin() + place; };
  const std::int64_t first = count - count * 2 / 10, second = count - count / 10;
  CHECK(predicted(TextData(text, v, Task::causal_lm, 16, 3, split)) == Ids(at(first + 1), at(second)));
  const TextData test(text, v, Task::causal_lm, 16, 3, split.test());
  CHECK(predicted(test) == Ids(at(second + 1), ids.end()));
  CHECK(predicted(test) == predicted(TextData(text, v, Task::causal_lm, 16, 3)));  // the last tenth
  CHECK(TextData(text, v, Task::causal_lm, 16, 3, split).fingerprint() != test.fingerprint());
  CHECK(test.fingerprint() == TextData(text, v, Task::causal_lm, 16, 3).fingerprint());
  const std::string too_short = "the quick brown fox the quick ";
  CHECK_THROWS_WITH(
      TextData(too_short, v, Task::causal_lm, 25, 1, split),
      doctest::Contains("are too few for sequences of 25, with 80 % for training and 10 % for validation"));
  CHECK(TextData(too_short, v, Task::causal_lm, 25, 1).validation_batches() == 1);
  for (const TextSplit& wrong : {TextSplit{90, 11}, TextSplit{90, 0}, TextSplit{-1, 10}})
    CHECK_THROWS_AS(TextData(text, v, Task::causal_lm, 16, 3, wrong), Error);
}

TEST_CASE("training windows come only from the training part") {
  std::string text;
  for (int c = 0; c < 100; ++c) text += {static_cast<char>(0xC4 + c / 64), static_cast<char>(0x80 + c % 64)};
  const TextData data(text, characters(text), Task::causal_lm, 8, 5, {60, 30});
  std::int64_t last = 0;
  for (std::int64_t k = 0; k < 200; ++k)
    for (const std::int64_t id : data.training(k, Random(1)).target.to_vector<std::int64_t>())
      last = std::max(last, id);
  CHECK(last == 59);
}

TEST_CASE("the percentages of a text's parts are three whole numbers whose sum is 100") {
  CHECK(text_split("90/10/0").rest() == 0);
  CHECK(text_split("98/1/1").validation == 1);
  for (const char* wrong : {"", "80/10", "80/10/10/0", "80/10/11", "80/10/10 ", " 80/10/10", "80/0/20", "0/90/10",
                            "+80/10/10", "80/10/-0", "8e1/10/10", "80//10", "1000/10/10", "80/10/10/", "a"})
    CHECK_THROWS_WITH((void)text_split(wrong), doctest::Contains("like 80/10/10 or 90/10/0, got "));
}

TEST_CASE("training windows: the next character is the target, and none is from the last tenth") {
  // Each character occurs once, so the characters of a window reveal where it starts.
  std::string text;
  for (int c = 0; c < 100; ++c) text += {static_cast<char>(0xC4 + c / 64), static_cast<char>(0x80 + c % 64)};
  const auto v = characters(text);
  const TextData data(text, v, Task::causal_lm, 8, 5);
  std::set<std::int64_t> starts;
  for (std::int64_t k = 0; k < 200; ++k) {
    const Batch batch = data.training(k, Random(1));
    CHECK(batch.tokens.shape() == Shape{5, 8});
    const Ids x = batch.tokens.to_vector<std::int64_t>(), y = batch.target.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < x.size(); ++i) CHECK((y[i] == x[i] + 1 && y[i] < 90));
    for (std::size_t row = 0; row < 5; ++row) starts.insert(x[row * 8]);
  }
  CHECK(starts.size() == 82);  // 0 … 81, because the last window predicts character 89
  const auto tokens = [&](std::uint64_t seed) {
    return data.training(3, Random(seed)).tokens.to_vector<std::int64_t>();
  };
  CHECK(tokens(1) == tokens(1));
  CHECK(tokens(1) != tokens(2));
}

TEST_CASE("masked language model: 15 % of the symbols, divided 80/10/10") {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + i * 7 % 26);
  const auto v = characters(text, Task::masked_lm);
  const TextData data(text, v, Task::masked_lm, 50, 40);
  double chosen = 0, masked = 0, same = 0, all = 0;
  for (std::int64_t k = 0; k < 20; ++k) {
    const Batch batch = data.training(k, Random(5));
    const Ids x = batch.tokens.to_vector<std::int64_t>(), y = batch.target.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      ++all;
      chosen += y[i] != -100;
      masked += x[i] == v->special().mask;
      same += y[i] == x[i];
      CHECK((y[i] != -100 || x[i] != v->special().mask));
    }
  }
  CHECK(chosen / all == doctest::Approx(0.15 + 0.85 / 50).epsilon(0.05));
  CHECK(masked / chosen == doctest::Approx(0.8).epsilon(0.03));
  CHECK(same / chosen == doctest::Approx(0.1 + 0.1 / 26).epsilon(0.15));
  // The masks of validation don't depend on the batches of the windows.
  CHECK(predicted(data) == predicted(TextData(text, v, Task::masked_lm, 50, 3)));
}

TEST_CASE("masked language model: each validation window has its own mask in any batch") {
  const std::string text(2000, 'x');
  const auto v = characters("xy", Task::masked_lm);
  const auto targets = [&](std::int64_t batch) {
    std::vector<Ids> rows;
    const TextData data(text, v, Task::masked_lm, 40, batch, TextSplit{0, 100});
    for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
      const Ids all = data.validation(k).target.to_vector<std::int64_t>();
      for (auto row = all.begin(); row != all.end(); row += 40) rows.emplace_back(row, row + 40);
    }
    return rows;
  };
  const std::vector<Ids> rows = targets(3);
  CHECK(rows == targets(1));
  CHECK(rows == targets(100));
  CHECK(std::set<Ids>(rows.begin(), rows.end()).size() == 50);
}

TEST_CASE("masked language model: at least one character per window") {
  const auto v = characters("ab", Task::masked_lm);
  const TextData data("abababababababababab", v, Task::masked_lm, 1, 3);
  for (std::int64_t k = 0; k < 20; ++k) CHECK(data.training(k, Random(5)).predicted == 3);
}

TEST_CASE("texts that are not suitable") {
  const auto v = characters("abc");
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::causal_lm, 9, 1), Error);
  CHECK_THROWS_AS(TextData("abcabcabc\xFF", v, Task::causal_lm, 2, 1), Error);
  CHECK_THROWS_WITH(TextData(EncodedText("abcabcabc", *characters("ab")), v, Task::causal_lm, 2, 1),
                    doctest::Contains("do not belong together"));
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::masked_lm, 2, 1), Error);
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::classifier, 2, 1), Error);
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::causal_lm, 2, std::int64_t{1} << 40), Error);
  const TemporaryFolder folder;
  folder.write("empty", "");
  folder.write("bad", "ab\xFE");
  CHECK_THROWS_WITH((void)read_text(folder / "empty"), ("\"" + (folder / "empty") + "\" is empty").c_str());
  CHECK_THROWS_WITH((void)read_text(folder / "bad"),
                    doctest::Contains(("\"" + (folder / "bad") + "\": invalid UTF-8 at byte 2").c_str()));
  CHECK_THROWS_AS((void)read_text(folder / "missing"), Error);
}

TEST_CASE("classifier data, padded: [cls], words, padding, and every row once per epoch") {
  LabeledTexts rows = small_rows();
  const LabeledTexts held = every_tenth(rows);
  const auto v = words(rows.texts);
  const ClassifierData data(rows, held, v, 4, 9, Padding::full);
  CHECK(data.pad_to() == 4);
  CHECK(data.labels() == rows.names);
  const Ids first = data.validation(0).tokens.to_vector<std::int64_t>();
  CHECK(data.validation(0).tokens.shape() == Shape{6, 4});
  CHECK(first[0] == v->special().cls);
  CHECK(v->decode(first[1]) == "red");
  const ClassifierData longer(rows, held, v, 10, 9, Padding::full);
  CHECK(longer.validation(0).tokens.to_vector<std::int64_t>()[9] == v->special().pad.value());

  std::vector<Ids> order(2);
  for (std::int64_t k = 0; k < 12; ++k) {
    const Batch batch = longer.training(k, Random(4));
    const Ids tokens = batch.tokens.to_vector<std::int64_t>();
    for (std::size_t row = 0; row < 9; ++row) order[static_cast<std::size_t>(k / 6)].push_back(tokens[row * 10 + 5]);
  }
  CHECK(order[0] != order[1]);
  // Each row occurs once.
  for (Ids& epoch : order) CHECK(std::set<std::int64_t>(epoch.begin(), epoch.end()).size() == 54);
}

TEST_CASE(
    "classifier data, exact lengths: similar lengths in a batch, every row once per epoch, in new batches and a new "
    "order") {
  LabeledTexts rows;
  rows.names = {"even", "odd"};
  std::vector<std::string> all;
  for (int i = 0; i < 50; ++i) {
    std::string text = "row" + std::to_string(i);
    for (int k = 0; k < i * 7 % 10 / 3; ++k) text += " x";  // 2, 3, 4 or 5 tokens including [cls]
    rows.texts.push_back(text);
    rows.labels.push_back(i % 2);
    all.push_back(text);
  }
  const auto v = words(all);
  const ClassifierData data(rows, rows, v, 9, 8, Padding::exact);
  CHECK(data.pad_to() == 0);
  std::vector<std::multiset<std::int64_t>> first_batches;
  std::vector<Ids> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::map<std::int64_t, int> seen;
    Ids order;
    for (std::int64_t k = 7 * epoch; k < 7 * (epoch + 1); ++k) {  // 50 rows in 7 batches
      const Batch batch = data.training(k, Random(4));
      const std::int64_t b = batch.tokens.size(0), n = batch.tokens.size(1);
      CHECK((b == 7 || b == 8));
      CHECK(batch.target.size(0) == b);
      CHECK(batch.predicted == b);
      const Ids tokens = batch.tokens.to_vector<std::int64_t>(), labels = batch.target.to_vector<std::int64_t>();
      bool some_full = false;
      for (std::int64_t row = 0; row < b; ++row) {
        const auto* t = tokens.data() + row * n;
        CHECK(t[0] == v->special().cls);
        const int number = std::stoi(v->decode(t[1]).substr(3));
        CHECK(labels[static_cast<std::size_t>(row)] == number % 2);
        ++seen[t[1]];
        order.push_back(t[1]);
        const std::int64_t size = 2 + number * 7 % 10 / 3;
        some_full = some_full || size == n;
        CHECK(n - size <= 1);
        for (std::int64_t i = size; i < n; ++i) CHECK(t[i] == v->special().pad.value());
        for (std::int64_t i = 2; i < size; ++i) CHECK(v->decode(t[i]) == "x");
      }
      CHECK(some_full);
    }
    CHECK(seen.size() == 50);
    orders.push_back(order);
    const Batch first = data.training(7 * epoch, Random(4));
    CHECK(first.tokens.to_vector<std::int64_t>() ==
          data.training(7 * epoch, Random(4)).tokens.to_vector<std::int64_t>());
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  // Rows of the same length are shuffled. So at least one batch has a set of rows that no batch of the previous epoch
  // had.
  const auto sets = [](const Ids& order) {
    std::set<std::set<std::int64_t>> batches;
    for (std::size_t i = 0; i + 8 <= order.size(); i += 7)
      batches.insert(
          {order.begin() + static_cast<std::ptrdiff_t>(i), order.begin() + static_cast<std::ptrdiff_t>(i + 7)});
    return batches;
  };
  CHECK(sets(orders[0]) != sets(orders[1]));

  std::map<std::int64_t, int> measured;
  for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
    const Batch batch = data.validation(k);
    CHECK(batch.tokens.size(0) <= 8);
    const Ids tokens = batch.tokens.to_vector<std::int64_t>();
    CHECK(std::count(tokens.begin(), tokens.end(), v->special().pad.value()) == 0);
    for (std::int64_t row = 0; row < batch.tokens.size(0); ++row) {
      const std::int64_t id = tokens[static_cast<std::size_t>(row * batch.tokens.size(1) + 1)];
      ++measured[id];
      CHECK(batch.target.to_vector<std::int64_t>()[static_cast<std::size_t>(row)] ==
            std::stoi(v->decode(id).substr(3)) % 2);
    }
  }
  CHECK(measured.size() == 50);
  CHECK(std::all_of(measured.begin(), measured.end(), [](const auto& m) { return m.second == 1; }));
}

TEST_CASE("a fingerprint distinguishes texts, rows and their order") {
  const LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  const auto of = [&](const LabeledTexts& training, const LabeledTexts& test) {
    return ClassifierData(training, test, v, 8, 2).fingerprint();
  };
  LabeledTexts labels = rows, texts = rows, order = rows;
  std::swap(labels.labels[0], labels.labels[1]);
  texts.texts[59] = texts.texts[56];
  std::swap(order.labels[3], order.labels[4]);
  std::swap(order.texts[3], order.texts[4]);
  std::set<std::string> all{of(rows, rows)};
  LabeledTexts named = rows;
  named.names = {"a", "b", "c"};
  CHECK(all.insert(of(named, named)).second);
  CHECK(all.insert(ClassifierData(rows, rows, v, 8, 2, Padding::exact).fingerprint()).second);
  CHECK(all.count(of(small_rows(), small_rows())) == 1);
  for (const LabeledTexts& other : {labels, texts, order}) {
    CHECK(all.insert(of(other, rows)).second);
    CHECK(all.insert(of(rows, other)).second);
  }
}

TEST_CASE("classifier data: rows of any length, in any order") {
  LabeledTexts rows;
  rows.texts = {"b c", "", "a b c a b", "c"};
  rows.labels = {0, 1, 0, 1};
  rows.names = {"1", "2"};
  const auto v = words({"a a a b b c"});  // a is 3, b is 4, c is 5
  const ClassifierData data(rows, rows, v, 4, 3, Padding::full);
  const Ids want[] = {{2, 4, 5, 0}, {2, 0, 0, 0}, {2, 3, 4, 5}, {2, 5, 0, 0}};
  std::size_t row = 0;
  for (std::int64_t k = 0; k < 2; ++k) {
    const Ids tokens = data.validation(k).tokens.to_vector<std::int64_t>();
    for (auto first = tokens.begin(); first != tokens.end(); first += 4) CHECK(Ids(first, first + 4) == want[row++]);
  }
  CHECK(row == 4);
  const Batch batch = data.training(0, Random(1));
  const Ids tokens = batch.tokens.to_vector<std::int64_t>();
  for (auto first = tokens.begin(); first != tokens.end(); first += 4)
    CHECK(std::count(std::begin(want), std::end(want), Ids(first, first + 4)) == 1);
}

TEST_CASE("classifier data that is not suitable") {
  const LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  CHECK_THROWS_AS(ClassifierData(rows, rows, v, 1, 1), Error);
  CHECK_THROWS_AS(ClassifierData(rows, {}, v, 4, 1), Error);
  LabeledTexts other = rows;
  std::swap(other.names[0], other.names[1]);
  CHECK_THROWS_WITH(ClassifierData(rows, other, v, 4, 1),
                    "[classifier] the validation set has different labels than the training set");
  CHECK_THROWS_AS(ClassifierData(rows, rows, characters("a"), 4, 1), Error);
  CHECK_THROWS_AS((void)ClassifierData({}, rows, v, 4, 1).training(0, Random(1)), Error);
}

}  // namespace weft::test
