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

std::string csv_error(const std::string& content, std::int64_t classes = 0) {
  try {
    (void)parse_csv(content, "file", classes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Tokens that are predicted in validation, in order.
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

TEST_CASE("validation is the last tenth, each character predicted once") {
  const std::string text = small_text();
  const auto v = characters(text);
  const auto ids = v->encode(text);
  const auto split = static_cast<std::ptrdiff_t>(ids.size() - ids.size() / 10);
  for (std::int64_t length : {1, 7, 16, 50})
    for (std::int64_t batch : {1, 3, 100}) {
      CHECK(predicted(TextData(text, v, Task::causal_lm, length, batch)) == Ids(ids.begin() + split + 1, ids.end()));
      CHECK(predicted(TextData(text, v, Task::causal_lm, length, batch, Part::all)) == Ids(ids.begin() + 1, ids.end()));
    }
}

TEST_CASE("training windows: the next character is the target, nothing of the last tenth") {
  // Each character occurs once, so that a window says where it is from.
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
  CHECK(starts.size() == 82);  // 0 … 81: the last predicts character 89
  const auto tokens = [&](std::uint64_t seed) {
    return data.training(3, Random(seed)).tokens.to_vector<std::int64_t>();
  };
  CHECK(tokens(1) == tokens(1));
  CHECK(tokens(1) != tokens(2));
}

TEST_CASE("masked language model: 15 %, of these 80/10/10") {
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
  // Validation's masks don't depend on how windows are put together.
  CHECK(predicted(data) == predicted(TextData(text, v, Task::masked_lm, 50, 3)));
}

TEST_CASE("masked language model: each window of validation has a mask of its own, whatever the batch") {
  const std::string text(2000, 'x');
  const auto v = characters("xy", Task::masked_lm);
  const auto targets = [&](std::int64_t batch) {
    std::vector<Ids> rows;
    const TextData data(text, v, Task::masked_lm, 40, batch, Part::all);
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

TEST_CASE("masked language model: one character a window at least") {
  const auto v = characters("ab", Task::masked_lm);
  const TextData data("abababababababababab", v, Task::masked_lm, 1, 3);
  for (std::int64_t k = 0; k < 20; ++k) CHECK(data.training(k, Random(5)).predicted == 3);
}

TEST_CASE("text that doesn't fit") {
  const auto v = characters("abc");
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::causal_lm, 9, 1), Error);
  CHECK_THROWS_AS(TextData("abcabcabc\xFF", v, Task::causal_lm, 2, 1), Error);
  CHECK_THROWS_WITH(TextData(EncodedText("abcabcabc", *characters("ab")), v, Task::causal_lm, 2, 1),
                    doctest::Contains("don't belong together"));
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::masked_lm, 2, 1), Error);
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::classifier, 2, 1), Error);
  CHECK_THROWS_AS(TextData("abcabcabc", v, Task::causal_lm, 2, std::int64_t{1} << 40), Error);
  const TemporaryFolder folder;
  folder.write("empty", "");
  folder.write("bad", "ab\xFE");
  CHECK_THROWS_WITH((void)read_text(folder / "empty"), ("\"" + (folder / "empty") + "\" is empty").c_str());
  CHECK_THROWS_WITH((void)read_text(folder / "bad"), ("\"" + (folder / "bad") + "\": invalid UTF-8 at byte 2").c_str());
  CHECK_THROWS_AS((void)read_text(folder / "missing"), Error);
}

TEST_CASE("CSV: quotes, doubled quotes, commas and line ends inside, CRLF, byte order mark") {
  const LabelledTexts rows = parse_csv(
      "\xEF\xBB\xBF\"2\",\"a \"\"b\"\", c\",\"line 1\nline 2\"\r\n1,,plain text\n\n"
      "\"2\",\"\",\"\"\"\"",
      "file");
  CHECK(rows.classes == 2);
  CHECK(rows.labels == Ids{1, 0, 1});
  CHECK(rows.texts == std::vector<std::string>{"a \"b\", c line 1\nline 2", "plain text", "\""});
}

TEST_CASE("CSV: line ends after fields without quotation marks") {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    CAPTURE(end.size());
    const LabelledTexts rows = parse_csv("1,a,b" + end + "2,c," + end + end + "2,\"d\",e", "file");
    CHECK(rows.texts == std::vector<std::string>{"a b", "c ", "d e"});
    CHECK(rows.labels == Ids{0, 1, 1});
  }
}

TEST_CASE("CSV: errors name the row") {
  const std::string good = "\"1\",\"t\",\"d\"\n";
  CHECK(csv_error(good).empty());
  CHECK(csv_error(good + "\"1\",\"t\"\n") == "file: row 2: expected 3 columns (class, title, description), got 2");
  CHECK(csv_error(good + "1,a,b,c\n") == "file: row 2: expected 3 columns (class, title, description), got 4");
  CHECK(csv_error(good + good + "0,a,b\n") == "file: row 3: the class is \"0\", expected a whole number from 1");
  CHECK(csv_error("Class,Title,Text\n") == "file: row 1: the class is \"Class\", expected a whole number from 1");
  CHECK(csv_error(good + "5,a,b\n", 4) == "file: row 2: the class is \"5\", expected 1 to 4");
  CHECK(csv_error(good + "3,a,b\n") == "file: row 2: the class is 3, but no row has class 2");
  CHECK(csv_error(good + "\"1\",\"t\",\"d\n") == "file: row 2: a quotation mark is not closed");
  CHECK(csv_error(good + "\"1\"x,\"t\",\"d\"\n") == "file: row 2: text after a closing quotation mark");
  // Line ends inside of a field and empty lines: an editor's line is not the row.
  const std::string two = "1,t,\"d\r\nd\"\r\n\r\n";
  CHECK(csv_error(two + "1,a\n") == "file: row 2 (line 4): expected 3 columns (class, title, description), got 2");
  CHECK(csv_error(two + "x,\"a\n\",b\n") == "file: row 2 (line 4): the class is \"x\", expected a whole number from 1");
  CHECK(csv_error(two + "3,a,b\n") == "file: row 2 (line 4): the class is 3, but no row has class 2");
  CHECK(csv_error("") == "file has no rows");
  CHECK(csv_error("1,a,\xFF\n") == "file: invalid UTF-8 at byte 4");
}

TEST_CASE("classifier data: [cls], words, padding; every row once an epoch") {
  LabelledTexts rows = small_rows();
  const LabelledTexts held = hold_out(rows);
  CHECK(rows.labels.size() == 54);
  CHECK(held.labels.size() == 6);
  const auto v = words(rows.texts);
  const ClassifierData data(rows, held, v, 4, 9);
  const Ids first = data.validation(0).tokens.to_vector<std::int64_t>();
  CHECK(data.validation(0).tokens.shape() == Shape{6, 4});
  CHECK(first[0] == v->special().cls);
  CHECK(v->decode(first[1]) == "red");
  const ClassifierData longer(rows, held, v, 10, 9);
  CHECK(longer.validation(0).tokens.to_vector<std::int64_t>()[9] == v->special().pad);

  std::vector<Ids> order(2);
  for (std::int64_t k = 0; k < 12; ++k) {
    const Batch batch = longer.training(k, Random(4));
    const Ids tokens = batch.tokens.to_vector<std::int64_t>();
    for (std::size_t row = 0; row < 9; ++row) order[static_cast<std::size_t>(k / 6)].push_back(tokens[row * 10 + 5]);
  }
  CHECK(order[0] != order[1]);
  // The rows' numbers differ.
  for (Ids& epoch : order) CHECK(std::set<std::int64_t>(epoch.begin(), epoch.end()).size() == 54);
}

TEST_CASE("a fingerprint tells texts, rows and their order apart") {
  const LabelledTexts rows = small_rows();
  const auto v = words(rows.texts);
  const auto of = [&](const LabelledTexts& training, const LabelledTexts& test) {
    return ClassifierData(training, test, v, 8, 2).fingerprint();
  };
  LabelledTexts labels = rows, texts = rows, order = rows;
  std::swap(labels.labels[0], labels.labels[1]);
  texts.texts[59] = texts.texts[56];
  std::swap(order.labels[3], order.labels[4]);
  std::swap(order.texts[3], order.texts[4]);
  std::set<std::string> all{of(rows, rows)};
  CHECK(all.count(of(small_rows(), small_rows())) == 1);
  for (const LabelledTexts& other : {labels, texts, order}) {
    CHECK(all.insert(of(other, rows)).second);
    CHECK(all.insert(of(rows, other)).second);
  }
}

TEST_CASE("classifier data: rows of any length, in any order") {
  LabelledTexts rows;
  rows.texts = {"b c", "", "a b c a b", "c"};
  rows.labels = {0, 1, 0, 1};
  rows.classes = 2;
  const auto v = words({"a a a b b c"});  // a 3, b 4, c 5
  const ClassifierData data(rows, rows, v, 4, 3);
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

TEST_CASE("classifier data that doesn't fit") {
  const LabelledTexts rows = small_rows();
  const auto v = words(rows.texts);
  CHECK_THROWS_AS(ClassifierData(rows, rows, v, 1, 1), Error);
  CHECK_THROWS_AS(ClassifierData(rows, {}, v, 4, 1), Error);
  CHECK_THROWS_AS(ClassifierData(rows, rows, characters("a"), 4, 1), Error);
  CHECK_THROWS_AS((void)ClassifierData({}, rows, v, 4, 1).training(0, Random(1)), Error);
}

}  // namespace weft::test
