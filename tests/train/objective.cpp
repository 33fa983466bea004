// Tests of losses and metrics of tasks on rows: values from formulas, scikit-learn and conlleval, and gradients.
#include "weft/objective.h"

#include <doctest/doctest.h>

#include <cmath>

#include "contains.h"
#include "data/meters.h"
#include "op_table.h"
#include "train_support.h"
#include "weft/spans.h"

namespace weft::test {
namespace {

Tensor values(const std::vector<double>& x, const Shape& shape) { return Tensor::from(x, shape); }

Batch with_target(const Tensor& target) {
  Batch batch;
  batch.target = target;
  batch.predicted = target.size(0);
  return batch;
}

double gradient_error_of(const std::function<Tensor(const Tensor&)>& loss, const Tensor& x) {
  return gradient_error([&](const auto& in) { return loss(in[0]); }, {x}, std::vector<bool>{true});
}

}  // namespace

TEST_CASE("mse_loss, huber_loss and binary_cross_entropy: formulas and gradients") {
  const Tensor x = values({-3, -0.5, 0.2, 0.9, 2.5, 40}, {3, 2}), y = values({-1, 0, 0.5, 1, 0.25, 0}, {3, 2});
  const auto a = x.to_vector<double>(), b = y.to_vector<double>();
  double mse = 0, huber = 0, bce = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double e = std::abs(a[i] - b[i]), p = 1 / (1 + std::exp(-a[i]));
    mse += e * e / 6;
    huber += (e < 0.75 ? e * e / 2 : 0.75 * (e - 0.375)) / 6;
    bce += (b[i] == 0 ? a[i] + std::log1p(std::exp(-a[i])) : -(b[i] * std::log(p) + (1 - b[i]) * std::log1p(-p))) / 6;
  }
  CHECK(mse_loss(x, y).item() == doctest::Approx(mse).epsilon(1e-12));
  CHECK(huber_loss(x, y, 0.75).item() == doctest::Approx(huber).epsilon(1e-12));
  CHECK(binary_cross_entropy(x, y).item() == doctest::Approx(bce).epsilon(1e-12));
  CHECK(gradient_error_of([&](const Tensor& in) { return mse_loss(in, y); }, x) < 1e-6);
  CHECK(gradient_error_of([&](const Tensor& in) { return huber_loss(in, y, 0.75); }, x) < 1e-6);
  CHECK(gradient_error_of([&](const Tensor& in) { return binary_cross_entropy(in, y); }, x) < 1e-6);
  const Tensor huge = values({1e4, -1e4}, {2});
  CHECK(binary_cross_entropy(huge, values({1, 0}, {2})).item() == 0);
  CHECK(binary_cross_entropy(huge, values({0, 1}, {2})).item() == 1e4);
  CHECK_THROWS_WITH_AS((void)mse_loss(x, values({1, 2, 3}, {3})),
                       doctest::Contains("of one shape, got (3, 2) and (3,)"), Error);
  CHECK_THROWS_AS((void)huber_loss(x, y, 0), Error);
  CHECK_THROWS_AS((void)binary_cross_entropy(x, Tensor::zeros({3, 2}, DType::i64)), Error);
}

TEST_CASE("focal_loss: class weights with PyTorch's normalization, and the focal factor") {
  const Tensor x = values({0.5, -1, 2, 1, 0, -0.5, -2, 0.3, 0.1, 5, 5, 5}, {4, 3});
  const Tensor target = Tensor::from<std::int64_t>({2, 0, -100, 1}, {4});
  const std::vector<double> weights{1, 4, 0.5};
  for (const double gamma : {0.0, 0.5, 2.0}) {
    double sum = 0, total = 0;
    const auto logits = x.to_vector<double>();
    const std::int64_t t[] = {2, 0, -100, 1};
    for (int row = 0; row < 4; ++row) {
      if (t[row] < 0) continue;
      double z = 0;
      for (int c = 0; c < 3; ++c) z += std::exp(logits[static_cast<std::size_t>(3 * row + c)]);
      const double p = std::exp(logits[static_cast<std::size_t>(3 * row + t[row])]) / z;
      const double w = weights[static_cast<std::size_t>(t[row])];
      sum += w * std::pow(1 - p, gamma) * -std::log(p);
      total += w;
    }
    CHECK(focal_loss(x, target, weights, gamma).item() == doctest::Approx(sum / total).epsilon(1e-9));
    CHECK(gradient_error_of([&](const Tensor& in) { return focal_loss(in, target, weights, gamma); }, x) < 1e-6);
  }
  CHECK(focal_loss(x, target, {}, 0).item() == doctest::Approx(cross_entropy(x, target).item()).epsilon(1e-12));
  const Tensor certain = values({100, -100}, {1, 2});  // p = 1
  CHECK(std::isfinite(focal_loss(certain, Tensor::from<std::int64_t>({0}, {1}), {}, 2).item()));
  CHECK_THROWS_WITH_AS((void)focal_loss(x, target, {1, 2}, 0), doctest::Contains("a weight for each of 3 classes"),
                       Error);
  CHECK_THROWS_AS((void)focal_loss(x, Tensor::from<std::int64_t>({3, 0, 0, 0}, {4}), {}, 0), Error);
  CHECK_THROWS_AS((void)focal_loss(x, Tensor::from<std::int64_t>({-100, -100, -100, -100}, {4}), {}, 0), Error);
  CHECK_THROWS_AS((void)focal_loss(x, target, {1, 0, 1}, 0), Error);
}

TEST_CASE("regression metrics: MAE, and R2 as from scikit-learn's r2_score, also over several batches") {
  const auto meter = make_objective(Task::regression, {"a", "b"})->meter();
  meter->add(values({2.5, 1, 0, 2}, {2, 2}), with_target(Tensor::from<float>({3, 1, -0.5f, 2}, {2, 2})));
  meter->add(values({2, 3, 8, 4}, {2, 2}), with_target(Tensor::from<float>({2, 3, 7, 3}, {2, 2})));
  // sklearn: r2_score([3, -0.5, 2, 7], [2.5, 0, 2, 8]) = 0.9486081; b: [1, 2, 3, 3], [1, 2, 3, 4]: 1 - 1 / 2.75
  CHECK(metric_of(*meter, "R2") == doctest::Approx((0.9486081370449679 + (1 - 1 / 2.75)) / 2));
  CHECK(metric_of(*meter, "MAE") == doctest::Approx((0.5 + 0.5 + 0 + 1 + 1) / 8));
  CHECK(meter->metrics()[0].lower_is_better);
  CHECK_FALSE(meter->metrics()[1].lower_is_better);
  const auto constant = make_objective(Task::forecast, {"a"})->meter();
  constant->add(values({1, 1}, {2, 1}), with_target(Tensor::from<float>({1, 1}, {2, 1})));
  CHECK(metric_of(*constant, "R2") == 1);
  constant->add(values({2}, {1, 1}), with_target(Tensor::from<float>({1}, {1, 1})));
  CHECK(metric_of(*constant, "R2") == 0);
}

TEST_CASE("multilabel metrics: as from scikit-learn's f1_score and average_precision_score") {
  const auto meter = make_objective(Task::multilabel, {"a", "b", "c"})->meter();
  // For label a, the scores are 0.1, 0.4, 0.35 and 0.8 (minus 0.5), and the labels 0, 0, 1, 1. sklearn gives 0.8333.
  meter->add(values({-0.4, 1, -1, -0.1, -1, -1}, {2, 3}), with_target(Tensor::from<float>({0, 1, 0, 0, 1, 0}, {2, 3})));
  meter->add(values({-0.15, 1, -1, 0.3, -2, 1}, {2, 3}), with_target(Tensor::from<float>({1, 0, 0, 1, 0, 0}, {2, 3})));
  // For label b, the scores are 1, -1, 1, -2, and the labels 1, 1, 0, 0. The two equal scores of 1 count together: 0.5
  // · 1/2 + 0.5 · 2/3.
  CHECK(metric_of(*meter, "average precision") == doctest::Approx((0.8333333333 + (0.25 + 1.0 / 3)) / 2));
  // a: 1 predicted and correct, 2 actual, so F1 is 2/3. b: 2 predicted, 1 of them correct, 2 actual, so F1 is 1/2. c: 1
  // predicted, none actual.
  CHECK(metric_of(*meter, "micro F1") == doctest::Approx(2.0 * 2 / (4 + 4)));
  CHECK(metric_of(*meter, "macro F1") == doctest::Approx((2.0 / 3 + 0.5) / 2));
}

TEST_CASE("tagging metrics: spans as conlleval finds them") {
  CHECK(spans_of({"O", "B-x", "I-x", "O", "I-y", "I-y", "B-y", "I-x", "O"}) ==
        std::vector<Span>{{1, 3, "x"}, {4, 6, "y"}, {6, 7, "y"}, {7, 8, "x"}});
  CHECK(spans_of({}).empty());
  CHECK(spans_of({"B-x"}) == std::vector<Span>{{0, 1, "x"}});
  const std::vector<std::string> tags{"O", "B-x", "I-x"};
  const auto meter = make_objective(Task::tagging, tags)->meter();
  const auto scores = [](const std::vector<std::int64_t>& best, std::int64_t rows) {
    std::vector<double> x(best.size() * 3, 0);
    for (std::size_t i = 0; i < best.size(); ++i) x[i * 3 + static_cast<std::size_t>(best[i])] = 1;
    return Tensor::from(x, {rows, std::ssize(best) / rows, 3});
  };
  // The first row has the spans [0, 2) and [3, 4), and only [0, 2) is found. The second row has [1, 2), which is found.
  // Its last token doesn't count.
  meter->add(scores({1, 2, 0, 0, 0, 1, 0, 2}, 2),
             with_target(Tensor::from<std::int64_t>({1, 2, 0, 1, 0, 1, 0, -100}, {2, 4})));
  CHECK(metric_of(*meter, "span F1") == doctest::Approx(2.0 * 2 / (2 + 3)));
  CHECK(metric_of(*meter, "accuracy") == doctest::Approx(6.0 / 7));
  CHECK(meter->confusion()->rows() == 7);
  const auto other = make_objective(Task::tagging, {"noun", "verb"})->meter();
  CHECK(other->metrics().size() == 2);
}

TEST_CASE("objectives: invalid options are refused") {
  const auto refused = [](Task task, const std::vector<std::string>& outputs, const ObjectiveOptions& options) {
    return error_of([&] { (void)make_objective(task, outputs, options); });
  };
  CHECK(contains(refused(Task::regression, {}, {}), "at least one output"));
  CHECK(contains(refused(Task::regression, {"a"}, {{1}, 0, 0}), "has no classes to weight"));
  CHECK(contains(refused(Task::multilabel, {"a"}, {{}, 1, 0}), "has no classes to weight"));
  CHECK(contains(refused(Task::classifier, {"a"}, {{}, 0, 1}), "has no Huber loss"));
  CHECK(contains(refused(Task::classifier, {"a", "b"}, {{1}, 0, 0}), "a weight for each of 2 classes"));
  CHECK(contains(refused(Task::tagging, {"a", "b"}, {{}, -1, 0}), "a focal gamma of at least 0"));
  CHECK(contains(refused(Task::forecast, {"a"}, {{}, 0, -1}), "a Huber delta of at least 0"));
  CHECK(contains(refused(Task::causal_lm, {"a"}, {}), "expected one of weft's own tasks that learn from rows"));
}

TEST_CASE("objectives: options change the loss of a batch") {
  const Tensor output = values({0.5, -1, 1, 3}, {2, 2});
  const Batch classes = with_target(Tensor::from<std::int64_t>({0, 0}, {2}));
  const Batch numbers = with_target(Tensor::from<float>({0, 0, 0, 0}, {2, 2}));
  CHECK(make_objective(Task::classifier, {"a", "b"})->loss(output, classes).item() ==
        cross_entropy(output, classes.target).item());
  CHECK(make_objective(Task::classifier, {"a", "b"}, {{1, 2}, 2, 0})->loss(output, classes).item() ==
        focal_loss(output, classes.target, {1, 2}, 2).item());
  CHECK(make_objective(Task::regression, {"a", "b"})->loss(output, numbers).item() ==
        doctest::Approx((0.25 + 1 + 1 + 9) / 4));
  CHECK(make_objective(Task::regression, {"a", "b"}, {{}, 0, 1})->loss(output, numbers).item() ==
        huber_loss(output, values({0, 0, 0, 0}, {2, 2}), 1).item());
}

}  // namespace weft::test
