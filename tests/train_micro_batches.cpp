// Micro-batches: a step on the mean gradient of several batches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "train_support.h"

namespace weft::test {

TEST_CASE("micro-batches: two of a batch are a step on their mean gradient") {
  // Without dropout and with batches of one row the two ways see the same rows.
  LabelledTexts rows = small_rows();
  const Vocabulary v = Vocabulary::of_words(rows.texts);
  const ClassifierData one(rows, rows, v, 8, 1, Padding::full), two(rows, rows, v, 8, 2, Padding::full);
  std::vector<double> values[2];
  for (std::size_t i : {0, 1}) {
    const auto model = make_model({"gmlp", Task::classifier, v.size(), 3, R"({"d_model":8,"layers":1,"seq_len":8})"},
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

TEST_CASE("micro-batches: their mean gradient, not their sum, makes a step, and is what clipping sees") {
  // SGD, whose steps are as large as the gradient. Adam's are not.
  LabelledTexts rows = small_rows();
  const Vocabulary v = Vocabulary::of_words(rows.texts);
  const ClassifierData one(rows, rows, v, 8, 1, Padding::full), two(rows, rows, v, 8, 2, Padding::full);
  for (double clip : {0.0, 0.5}) {
    std::vector<double> values[2];
    for (std::size_t i : {0, 1}) {
      const auto model = make_model({"gmlp", Task::classifier, v.size(), 3, R"({"d_model":8,"layers":1,"seq_len":8})"},
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

TEST_CASE("micro-batches: each has rows and dropout masks of its own") {
  for (const std::string arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const SmallTask small = small_task(arch, usual_task(arch)), same = small_task(arch, usual_task(arch));
    TrainOptions options = small_options(10);
    options.micro_batches = 3;
    options.seed = 5;
    const Random batches = Random(options.seed).split(1), dropout = Random(options.seed).split(2);
    double mean = 0;
    for (std::int64_t k = 0; k < 3; ++k) {
      const Batch batch = same.data->training(k, batches);
      const Random mask = dropout.split(static_cast<std::uint64_t>(k));
      mean += cross_entropy((*same.model)(batch.tokens, &mask), batch.target).item() / 3;
    }
    CHECK(Trainer(*small.model, *small.data, options).step() == doctest::Approx(mean).epsilon(1e-6));
  }
}

}  // namespace weft::test
