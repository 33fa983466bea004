// Tests of rows with different lengths in a batch, where padding must have no effect.
#include <doctest/doctest.h>

#include <cmath>

#include "train_support.h"
#include "weft/ops.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// Data with batches of rows that a test chooses.
class Given : public ClassifierData {
 public:
  Given(const LabeledTexts& rows, std::shared_ptr<const Tokenizer> tokenizer)
      : ClassifierData(rows, rows, std::move(tokenizer), 9, 4, Padding::exact) {}
  Batch training(std::int64_t k, const Random&) const override {
    return batches[static_cast<std::size_t>(k) % batches.size()];
  }
  std::vector<Batch> batches;
};

const std::vector<std::int64_t> lengths = {2, 4, 4, 7};

// Four rows with these lengths, padded to n with `filler`.
Batch batch_of(std::int64_t n, std::int64_t filler) {
  std::vector<std::int64_t> tokens;
  for (std::size_t row = 0; row < lengths.size(); ++row)
    for (std::int64_t i = 0; i < n; ++i)
      tokens.push_back(i == 0 ? 2 : i < lengths[row] ? 3 + (5 * i + static_cast<std::int64_t>(row)) % 8 : filler);
  Batch batch{Tensor::from(tokens, {4, n}), Tensor::from<std::int64_t>({0, 2, 1, 2}, {4}), 4};
  batch.lengths = lengths;
  return batch;
}

// Returns each row of the batch as a separate batch.
std::vector<Batch> single_rows(const Batch& batch) {
  std::vector<Batch> rows;
  for (std::int64_t row = 0; row < 4; ++row) {
    const std::int64_t n = lengths[static_cast<std::size_t>(row)];
    rows.push_back({slice(slice(batch.tokens, 0, row, row + 1), 1, 0, n), slice(batch.target, 0, row, row + 1), 1});
  }
  return rows;
}

struct Stepped {
  double loss = 0;
  std::vector<double> parameters = {};
};

Stepped step(const std::string& arch, const std::vector<Batch>& batches, const std::string& dropout = "0") {
  const LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  Given data(rows, v);
  data.batches = batches;
  const auto model = make_model(
      {arch, Task::classifier, v->size(), 3, R"({"d_model":8,"layers":2,"seq_len":9,"dropout":)" + dropout + "}"},
      {Random(3), DType::f64});
  TrainOptions options = small_options(10);
  options.micro_batches = std::ssize(batches);
  options.optimizer.name = "sgd";
  options.optimizer.clip = 0;
  options.schedule.peak = 0.1;
  options.schedule.warmup = 0;
  Trainer trainer(*model, data, options);
  Stepped stepped;
  stepped.loss = trainer.step();
  for (const auto& [name, parameter] : model->parameters())
    for (double x : parameter.value().to_vector<double>()) stepped.parameters.push_back(x);
  return stepped;
}

}  // namespace

TEST_CASE("rows of different lengths: the amount and the value of padding have no effect") {
  for (const std::string& arch : own_architectures)
    for (const std::string dropout : {"0", "0.5"}) {
      CAPTURE(arch);
      const Stepped plain = step(arch, {batch_of(7, 0)}, dropout);
      for (const Batch& other : {batch_of(9, 0), batch_of(7, 5), batch_of(9, 1)}) {
        const Stepped same = step(arch, {other}, dropout);
        CHECK(same.loss == plain.loss);
        CHECK(same.parameters == plain.parameters);
      }
    }
}

TEST_CASE("rows of different lengths: a step uses the mean of the rows' own gradients") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const Stepped together = step(arch, {batch_of(9, 0)}), alone = step(arch, single_rows(batch_of(9, 0)));
    CHECK(together.loss == doctest::Approx(alone.loss).epsilon(1e-12));
    double worst = 0;
    for (std::size_t i = 0; i < alone.parameters.size(); ++i)
      worst = std::max(worst, std::abs(together.parameters[i] - alone.parameters[i]));
    CHECK(worst < 1e-12);
    CHECK(step(arch, {batch_of(9, 0)}, "0.5").loss != together.loss);
  }
}

TEST_CASE("rows of different lengths: each length has its own dropout") {
  // If both lengths used the same random numbers, the result would be the mean of the results of single rows.
  Batch both{Tensor::from<std::int64_t>({2, 5, 0, 2, 5, 5}, {2, 3}), Tensor::from<std::int64_t>({1, 1}, {2}), 2};
  both.lengths = {2, 3};
  const Batch shorter{Tensor::from<std::int64_t>({2, 5}, {1, 2}), Tensor::from<std::int64_t>({1}, {1}), 1},
      longer{Tensor::from<std::int64_t>({2, 5, 5}, {1, 3}), Tensor::from<std::int64_t>({1}, {1}), 1};
  const auto mean = [](const std::string& dropout, const Batch& a, const Batch& b) {
    return (step("gmlp", {a}, dropout).loss + step("gmlp", {b}, dropout).loss) / 2;
  };
  CHECK(step("gmlp", {both}, "0").loss == doctest::Approx(mean("0", shorter, longer)).epsilon(1e-12));
  CHECK(std::abs(step("gmlp", {both}, "0.5").loss - mean("0.5", shorter, longer)) > 1e-6);
}

TEST_CASE("rows of different lengths: only real tokens count") {
  const LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  Given data(rows, v);
  data.batches = {batch_of(9, 0), batch_of(9, 0), batch_of(9, 0)};
  const auto model =
      make_model({"gmlp", Task::classifier, v->size(), 3, R"({"d_model":8,"layers":1,"seq_len":9})"}, {Random(3)});
  Trainer trainer(*model, data, small_options(1));
  const RunResult result = trainer.run({});
  CHECK(result.tokens_per_second * result.seconds == doctest::Approx(2 + 4 + 4 + 7));
}

TEST_CASE("rows of different lengths: each row predicts") {
  for (const std::int64_t predicted : {3, 5}) {
    Batch batch = batch_of(9, 0);
    batch.predicted = predicted;
    CHECK_THROWS_WITH(step("gmlp", {batch}),
                      ("[train] expected one prediction for each of 4 rows, got " + std::to_string(predicted)).c_str());
  }
}

TEST_CASE("rows of different lengths: wrong lengths") {
  for (const std::vector<std::int64_t>& wrong :
       std::vector<std::vector<std::int64_t>>{{2, 4, 4}, {4, 2, 4, 7}, {2, 4, 4, 10}, {0, 4, 4, 7}, {2, 4, 4, 7, 7}}) {
    Batch batch = batch_of(9, 0);
    batch.lengths = wrong;
    CHECK_THROWS_WITH(step("gmlp", {batch}),
                      "[train] expected 4 rows, each with a label and 1 to 9 tokens, sorted by length");
  }
}

TEST_CASE("classifier data: exact rows have lengths, padded rows have none") {
  const LabeledTexts rows = small_rows();
  const auto v = words(rows.texts);
  const ClassifierData exact(rows, rows, v, 9, 8, Padding::exact), full(rows, rows, v, 9, 8, Padding::full);
  CHECK(full.training(0, Random(1)).lengths.empty());
  for (std::int64_t k = 0; k < 8; ++k) {
    const Batch batch = exact.training(k, Random(1));
    REQUIRE(std::ssize(batch.lengths) == batch.tokens.size(0));
    const auto tokens = batch.tokens.to_vector<std::int64_t>();
    for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
      std::int64_t length = 0;
      for (std::int64_t i = 0; i < batch.tokens.size(1); ++i)
        length += tokens[row * static_cast<std::size_t>(batch.tokens.size(1)) + static_cast<std::size_t>(i)] != 0;
      CHECK(batch.lengths[row] == length);
    }
  }
}

}  // namespace weft::test
