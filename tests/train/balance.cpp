// Tests of unbalanced classes: weights and repeated rows computed by hand and by scikit-learn, and the losses of data.
#include "weft/balance.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "contains.h"
#include "train_support.h"
#include "weft/classifier_data.h"
#include "weft/frame_rows.h"
#include "weft/target_rows.h"

namespace weft::test {
namespace {

using Indices = std::vector<std::int64_t>;

// 12 rows with 1 to 4 words. One of the rows is "rare".
LabeledTexts unbalanced() {
  LabeledTexts rows;
  rows.names = {"often", "rare"};
  for (std::int64_t i = 0; i < 12; ++i) {
    std::string text = "word";
    for (std::int64_t k = 0; k < i % 4; ++k) text += " more";
    rows.texts.push_back(text);
    rows.labels.push_back(i == 5);
  }
  return rows;
}

ClassifierData data_of(const LabeledTexts& rows, Padding padding, const LearningOptions& learning) {
  return {rows, rows, words(rows.texts), 8, 4, padding, 0, learning};
}

// Counts how often each class occurs in the batches of an epoch.
std::map<std::int64_t, int> classes_in(const Data& data, std::int64_t batches) {
  std::map<std::int64_t, int> count;
  for (std::int64_t k = 0; k < batches; ++k)
    for (const std::int64_t target : data.training(k, Random(3)).target.to_vector<std::int64_t>()) ++count[target];
  return count;
}

}  // namespace

TEST_CASE("balance: weights equal those of scikit-learn, and rows repeat") {
  // sklearn.utils.class_weight.compute_class_weight("balanced", classes=[0, 1, 3], y=[0, 0, 0, 0, 0, 1, 1, 3])
  const std::vector<double> weights = balanced_weights({0, 3, 0, 0, 1, 0, 1, 0, -100}, 4);
  CHECK(weights[0] == doctest::Approx(0.53333333).epsilon(1e-7));
  CHECK(weights[1] == doctest::Approx(1.33333333).epsilon(1e-7));
  CHECK(weights[2] == 1);
  CHECK(weights[3] == doctest::Approx(2.66666667).epsilon(1e-7));
  CHECK(balanced_rows({0, 1, 0, 0, 1, 0, 0, 2}, 4) == Indices{0, 1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7, 7, 7});
  CHECK(balanced_rows({}, 3).empty());
  CHECK_THROWS_AS((void)balanced_weights({4}, 4), Error);
  CHECK_THROWS_AS((void)balanced_rows({-1}, 4), Error);
  for (const std::string& name : balances()) CHECK(balance_name(balance_from_name(name)) == name);
}

TEST_CASE("balance: an epoch has the same number of rows of each class, with any padding") {
  const LabeledTexts rows = unbalanced();
  for (const Padding padding : {Padding::full, Padding::exact}) {
    CHECK(classes_in(data_of(rows, padding, {}), 3) == std::map<std::int64_t, int>{{0, 11}, {1, 1}});
    const auto balanced = classes_in(data_of(rows, padding, {Balance::rows}), 6);
    CHECK(balanced.at(1) >= 11);
    CHECK(balanced.at(0) >= 11);
    CHECK(balanced.at(0) + balanced.at(1) >= 22);
  }
  CHECK(data_of(rows, Padding::full, {Balance::rows}).validation_batches() == 3);
}

TEST_CASE("balance: rows of numbers, balanced by rows and by weights") {
  LabeledTexts rows;
  rows.channels = 1;
  rows.names = {"often", "rare"};
  for (std::int64_t i = 0; i < 12; ++i) {
    const float x = static_cast<float>(i);
    rows.texts.emplace_back(reinterpret_cast<const char*>(&x), sizeof x);
    rows.labels.push_back(i == 5);
  }
  const TargetKind kind{Task::classifier, rows.names};
  const auto data_for = [&](Balance balance) {
    return frame_data(rows, rows, kind, frame_input(rows), 1, 4, {}, {balance});
  };
  CHECK(classes_in(*data_for(Balance::none), 3) == std::map<std::int64_t, int>{{0, 11}, {1, 1}});
  CHECK(classes_in(*data_for(Balance::rows), 11) == std::map<std::int64_t, int>{{0, 22}, {1, 22}});
  Batch batch;
  batch.target = Tensor::from<std::int64_t>({1}, {1});
  const Tensor output = Tensor::from<double>({0, 0}, {1, 2});
  CHECK(data_for(Balance::weights)->loss(output, batch).item() == doctest::Approx(6 * std::log(2.0)).epsilon(1e-12));
}

TEST_CASE("balance: the weighted loss of a batch equals that of its parts, and the mean weight is 1") {
  const LabeledTexts rows = unbalanced();
  const auto data = data_of(rows, Padding::exact, {Balance::weights});
  const Tensor output = Tensor::from<double>({2, 0, -1, 1, 0.5, 0.25}, {3, 2});
  const auto batch_of = [](const Indices& target) {
    Batch batch;
    batch.target = Tensor::from(target, {std::ssize(target)});
    batch.predicted = std::ssize(target);
    return batch;
  };
  const double whole = data.loss(output, batch_of({0, 1, 0})).item();
  const double first = data.loss(slice(output, 0, 0, 1), batch_of({0})).item(),
               second = data.loss(slice(output, 0, 1, 2), batch_of({1})).item(),
               third = data.loss(slice(output, 0, 2, 3), batch_of({0})).item();
  CHECK(whole == doctest::Approx((first + second + third) / 3).epsilon(1e-12));
  const auto plain = data_of(rows, Padding::exact, {});
  CHECK(first == doctest::Approx(plain.loss(slice(output, 0, 0, 1), batch_of({0})).item() * 12 / 22).epsilon(1e-12));
  CHECK(second == doctest::Approx(plain.loss(slice(output, 0, 1, 2), batch_of({1})).item() * 6).epsilon(1e-12));
}

TEST_CASE("balance: tag weights follow from the tags of all words") {
  LabeledTexts rows;
  rows.texts = {"a b c", "d"};
  rows.names = {"O O X", "O"};
  rows.labels = {0, 1};
  const TargetKind kind = find_targets(Task::tagging, rows);
  const auto data = target_data(rows, rows, kind, learn_tokenizer("whitespace", rows.texts, {Task::tagging, 0, 1}), 4,
                                2, {Balance::weights});
  Batch batch;
  batch.target = Tensor::from<std::int64_t>({1}, {1});
  const Tensor output = Tensor::from<double>({0, 0}, {1, 2});
  CHECK(data->loss(output, batch).item() == doctest::Approx(2 * std::log(2.0)).epsilon(1e-12));  // 4 / (2 · 1)
  CHECK(contains(data->fingerprint(), "balance weights"));
  CHECK_THROWS_WITH_AS(
      (void)target_data(rows, rows, kind, learn_tokenizer("whitespace", rows.texts, {Task::tagging, 0, 1}), 4, 2,
                        {Balance::rows}),
      doctest::Contains("the task tagging does not support balancing by rows"), Error);
}

TEST_CASE("balance: a selection of rows of a set") {
  const RowSet set{3, [](std::int64_t k) { return Row{{}, {}, Tensor::full({}, k, DType::i64)}; }};
  const RowSet chosen = chosen_rows(set, {2, 0, 2, 2});
  REQUIRE(chosen.size == 4);
  CHECK(chosen.row(1).target.to_vector<std::int64_t>()[0] == 0);
  CHECK(chosen.row(3).target.to_vector<std::int64_t>()[0] == 2);
  CHECK_THROWS_WITH_AS((void)chosen_rows(set, {3}), doctest::Contains("from 0 to 2, got 3"), Error);
}

}  // namespace weft::test
