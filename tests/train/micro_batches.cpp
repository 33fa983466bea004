// Tests of micro-batches, with which a step uses the mean gradient of several batches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "train_support.h"

namespace weft::test {

TEST_CASE("micro-batches: a step of two uses the mean gradient of both") {
  // Without dropout and with batches of one row, both models see the same rows.
  LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  const ClassifierData one(rows, rows, v, 8, 1, Padding::full), two(rows, rows, v, 8, 2, Padding::full);
  std::vector<double> values[2];
  for (std::size_t i : {0, 1}) {
    const auto model = make_model({"gmlp", Task::classifier, v->size(), 3, R"({"d_model":8,"layers":1,"seq_len":8})"},
                                  {Random(3), DType::f64});
    TrainOptions options = small_options(10);
    options.micro_batches = i == 0 ? 2 : 1;
    Trainer trainer(*model, i == 0 ? one : two, options);
    for (int step = 0; step < 3; ++step) trainer.step();
    for (const auto& [name, parameter] : model->parameters())
      for (double x : parameter.value().to_vector<double>()) values[i].push_back(x);
  }
  for (std::size_t i = 0; i < values[0].size(); ++i) CHECK(values[0][i] == doctest::Approx(values[1][i]).epsilon(1e-8));
}

TEST_CASE("micro-batches: a step and clipping use their mean gradient, not their sum") {
  // Uses SGD because, unlike Adam's steps, its steps are proportional to the gradient.
  LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  const ClassifierData one(rows, rows, v, 8, 1, Padding::full), two(rows, rows, v, 8, 2, Padding::full);
  for (double clip : {0.0, 0.5}) {
    std::vector<double> values[2];
    for (std::size_t i : {0, 1}) {
      const auto model = make_model({"gmlp", Task::classifier, v->size(), 3, R"({"d_model":8,"layers":1,"seq_len":8})"},
                                    {Random(3), DType::f64});
      TrainOptions options = small_options(10);
      options.micro_batches = i == 0 ? 2 : 1;
      options.optimizer.name = "sgd";
      options.optimizer.clip = clip;
      options.schedule.peak = 0.1;
      Trainer trainer(*model, i == 0 ? one : two, options);
      for (int step = 0; step < 3; ++step) trainer.step();
      for (const auto& [name, parameter] : model->parameters())
        for (double x : parameter.value().to_vector<double>()) values[i].push_back(x);
    }
    double worst = 0;
    for (std::size_t i = 0; i < values[0].size(); ++i) worst = std::max(worst, std::abs(values[0][i] - values[1][i]));
    CHECK(worst < 1e-10);
  }
}

TEST_CASE("micro-batches: each micro-batch of each step has its own rows and dropout masks") {
  for (const std::string arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const SmallTask small = small_task(arch, usual_task(arch));
    TrainOptions options = small_options(10);
    options.micro_batches = 3;
    options.seed = 5;
    const Random batches = Random(options.seed).split(1), dropout = Random(options.seed).split(2);
    Trainer trainer(*small.model, *small.data, options);
    for (const std::int64_t step : {0, 1}) {
      CAPTURE(step);
      double mean = 0, predicted = 0;
      for (std::int64_t k = 3 * step; k < 3 * (step + 1); ++k) {
        const Batch batch = small.data->training(k, batches);
        const Random mask = dropout.split(static_cast<std::uint64_t>(k));
        const auto count = static_cast<double>(batch.predicted);
        mean += cross_entropy((*small.model)(batch.tokens, &mask), batch.target).item() * count;
        predicted += count;
      }
      mean /= predicted;
      CHECK(trainer.step() == doctest::Approx(mean).epsilon(1e-6));
    }
  }
}

// Rows of one text. Row r of a batch predicts its first r % 5 + 1 symbols.
class UnevenData : public TextData {
 public:
  explicit UnevenData(std::int64_t rows) : TextData(small_text(), characters(small_text()), Task::causal_lm, 8, rows) {}
  Batch training(std::int64_t k, const Random&) const override {
    const auto ids = tokenizer()->encode(small_text());
    std::vector<std::int64_t> tokens, target;
    Batch made;
    for (std::int64_t row = k * batch(); row < (k + 1) * batch(); ++row)
      for (std::int64_t i = 0; i < 8; ++i) {
        const bool counts = i <= row % 5;
        tokens.push_back(ids[static_cast<std::size_t>(row * 8 + i)]);
        target.push_back(counts ? ids[static_cast<std::size_t>(row * 8 + i + 1)] : -100);
        made.predicted += counts;
      }
    made.tokens = Tensor::from(tokens, {batch(), 8});
    made.target = Tensor::from(target, {batch(), 8});
    return made;
  }
};

TEST_CASE("micro-batches that predict more symbols have more weight, as in one large batch") {
  const UnevenData one(1), six(6);
  for (const double smoothing : {0.0, 0.2}) {
    std::vector<double> values[2], losses[2];
    for (std::size_t i : {0, 1}) {
      const auto model =
          make_model({"gmlp", Task::causal_lm, one.tokenizer()->size(), 0, R"({"d_model":8,"layers":1,"seq_len":8})"},
                     {Random(3), DType::f64});
      TrainOptions options = small_options(10);
      options.micro_batches = i == 0 ? 6 : 1;
      options.label_smoothing = smoothing;
      options.optimizer.name = "sgd";
      options.schedule.peak = 0.1;
      Trainer trainer(*model, i == 0 ? one : six, options);
      for (int step = 0; step < 3; ++step) losses[i].push_back(trainer.step());
      for (const auto& [name, parameter] : model->parameters())
        for (double x : parameter.value().to_vector<double>()) values[i].push_back(x);
    }
    for (std::size_t k = 0; k < 3; ++k) CHECK(losses[0][k] == doctest::Approx(losses[1][k]).epsilon(1e-12));
    double worst = 0;
    for (std::size_t k = 0; k < values[0].size(); ++k) worst = std::max(worst, std::abs(values[0][k] - values[1][k]));
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("label smoothing: the cross entropy with a target that is distributed over all classes") {
  const UnevenData data(6);
  const double epsilon = 0.3;
  const auto config = R"({"d_model":8,"layers":1,"seq_len":8})";
  const ModelSpec spec{"gmlp", Task::causal_lm, data.tokenizer()->size(), 0, config};
  const auto model = make_model(spec, {Random(3), DType::f64}), same = make_model(spec, {Random(3), DType::f64});
  TrainOptions options = small_options(10);
  options.label_smoothing = epsilon;
  const double loss = Trainer(*model, data, options).step();
  const Batch batch = data.training(0, Random(1));
  const auto log_p = log_softmax((*same)(batch.tokens), -1).to_vector<double>();
  const auto target = batch.target.to_vector<std::int64_t>();
  const std::size_t classes = log_p.size() / target.size();
  double expected = 0;
  for (std::size_t i = 0; i < target.size(); ++i)
    for (std::size_t c = 0; target[i] >= 0 && c < classes; ++c) {
      const double wanted =
          epsilon / static_cast<double>(classes) + (c == static_cast<std::size_t>(target[i]) ? 1 - epsilon : 0);
      expected -= wanted * log_p[i * classes + c] / static_cast<double>(batch.predicted);
    }
  CHECK(loss == doctest::Approx(expected).epsilon(1e-12));
  for (const double wrong : {-0.1, 1.0, std::nan("")}) {
    options.label_smoothing = wrong;
    CHECK_THROWS_AS(Trainer(*model, data, options), Error);
  }
}

}  // namespace weft::test
