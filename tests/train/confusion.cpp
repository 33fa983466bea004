// Tests the confusion matrix and its scores against results computed by hand and against plain sums over the rows.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "weft/confusion.h"
#include "weft/error.h"
#include "weft/random.h"

namespace weft::test {

TEST_CASE("confusion: counts, accuracy and scores equal results by hand") {
  Confusion c(3);
  CHECK(c.labels() == 3);
  CHECK(c.rows() == 0);
  CHECK(c.accuracy() == 0);
  const int rows[][3] = {{0, 0, 5}, {0, 1, 2}, {1, 1, 3}, {1, 0, 1}, {2, 1, 4}};  // actual, predicted, count
  for (const auto& row : rows)
    for (int i = 0; i < row[2]; ++i) c.add(row[0], row[1]);
  CHECK(c.rows() == 15);
  CHECK(c.count(0, 1) == 2);
  CHECK(c.count(1, 0) == 1);
  CHECK(c.count(2, 1) == 4);
  CHECK(c.count(1, 2) == 0);
  CHECK(c.accuracy() == 8.0 / 15);
  const LabelScores first = c.scores(0), second = c.scores(1), third = c.scores(2);
  CHECK(first.actual == 7);
  CHECK(first.predicted == 6);
  CHECK(first.precision == 5.0 / 6);
  CHECK(first.recall == 5.0 / 7);
  CHECK(first.f1 == doctest::Approx(2 * first.precision * first.recall / (first.precision + first.recall)));
  CHECK(second.precision == 3.0 / 9);
  CHECK(second.recall == 3.0 / 4);
  CHECK(third.actual == 4);
  CHECK(third.predicted == 0);
  CHECK(third.precision == 0);  // no row has this prediction
  CHECK(third.recall == 0);
  CHECK(third.f1 == 0);
  const LabelScores mean = c.macro_average();
  CHECK(mean.precision == doctest::Approx((5.0 / 6 + 3.0 / 9) / 3));
  CHECK(mean.recall == doctest::Approx((5.0 / 7 + 3.0 / 4) / 3));
  CHECK(mean.f1 == doctest::Approx((first.f1 + second.f1) / 3));
  CHECK(mean.actual == 15);
  CHECK(mean.predicted == 15);
}

TEST_CASE("confusion: the macro average omits labels without rows, unless they are predicted") {
  Confusion c(4);
  c.add(0, 0);
  c.add(1, 1);
  CHECK(c.macro_average().f1 == 1);
  c.add(0, 2);
  const double f1 = 2.0 / 3;  // for label 0
  CHECK(c.macro_average().f1 == doctest::Approx((f1 + 1 + 0) / 3));
  CHECK(c.scores(3).actual == 0);
  CHECK(c.scores(3).f1 == 0);
  CHECK(Confusion(2).macro_average().recall == 0);
}

TEST_CASE("confusion: the highest logit counts, the first of equal ones, with the same counts as row by row") {
  CHECK(predicted_labels(Tensor::from<double>({0, 2, 2, -1, -3, -2, 5, 0, 5}, {3, 3})) ==
        std::vector<std::int64_t>{1, 0, 0});
  CHECK(predicted_labels(Tensor::from<float>({1, 3, 2, 0}, {4, 1})) == std::vector<std::int64_t>{0, 0, 0, 0});
  CHECK(predicted_labels(Tensor::empty({0, 3})).empty());
  const Tensor logits = Random(5).normal({60, 4}, 0, 1);
  const std::vector<float> x = logits.to_vector<float>();
  std::vector<std::int64_t> target;
  Confusion batches(4), single(4);
  std::int64_t right = 0;
  for (std::size_t row = 0; row < 60; ++row) {
    std::int64_t best = 0;
    for (std::int64_t label = 1; label < 4; ++label)
      if (x[row * 4 + static_cast<std::size_t>(label)] > x[row * 4 + static_cast<std::size_t>(best)]) best = label;
    target.push_back(static_cast<std::int64_t>(row * row % 4));
    single.add(target.back(), best);
    right += target.back() == best;
  }
  batches.add(logits, Tensor::from(target, {60}));
  for (std::int64_t a = 0; a < 4; ++a)
    for (std::int64_t p = 0; p < 4; ++p) CHECK(batches.count(a, p) == single.count(a, p));
  CHECK(batches.accuracy() == static_cast<double>(right) / 60);
}

TEST_CASE("confusion: invalid labels, invalid logits and too many labels are errors, and nothing is counted") {
  Confusion c(2);
  CHECK_THROWS_WITH_AS(c.add(2, 0), "[Confusion] expected a label of 0 to 1, got 2", Error);
  CHECK_THROWS_WITH_AS(c.add(0, -1), "[Confusion] expected a label of 0 to 1, got -1", Error);
  CHECK_THROWS_AS((void)c.count(0, 2), Error);
  CHECK_THROWS_AS((void)c.scores(2), Error);
  CHECK_THROWS_AS((void)c.scores(-1), Error);
  CHECK_THROWS_AS(c.add(Tensor::zeros({2, 3}), Tensor::zeros({2}, DType::i64)), Error);
  CHECK_THROWS_AS(c.add(Tensor::zeros({2, 2}), Tensor::zeros({3}, DType::i64)), Error);
  CHECK_THROWS_AS(c.add(Tensor::zeros({2, 2}), Tensor::zeros({2})), Error);
  CHECK_THROWS_AS(c.add(Tensor::zeros({2, 2}), Tensor::from<std::int64_t>({0, -100}, {2})), Error);
  CHECK_THROWS_AS(c.add(Tensor(), Tensor::zeros({2}, DType::i64)), Error);
  CHECK(c.rows() == 0);
  CHECK(c.count(0, 0) == 0);
  CHECK_THROWS_AS((void)predicted_labels(Tensor::zeros({4})), Error);
  CHECK_THROWS_AS((void)predicted_labels(Tensor::zeros({4, 0})), Error);
  CHECK_THROWS_AS((void)predicted_labels(Tensor::zeros({4, 2}, DType::i64)), Error);
  CHECK_THROWS_AS(Confusion(0), Error);
  CHECK_THROWS_AS(Confusion(std::int64_t{1} << 60), Error);
}

}  // namespace weft::test
