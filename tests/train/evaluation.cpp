// Tests of evaluation: losses and metrics of validation data, including custom data.
#include <doctest/doctest.h>

#include <set>

#include "random_parameters.h"
#include "train_support.h"

namespace weft::test {

TEST_CASE("the loss of a masked language model is the mean over the predicted symbols of all batches") {
  // 15 % of 7 symbols is one symbol. The shorter last window has one, too.
  const auto tokenizer = characters(small_text(), Task::masked_lm);
  const TextData data(small_text(), tokenizer, Task::masked_lm, 7, 4);
  const auto model = make_model({"fnet", Task::masked_lm, tokenizer->size(), 0, R"({"d_model":8,"seq_len":7})"},
                                {Random(3), DType::f64});
  randomize(model->parameters());
  double sum = 0, count = 0;
  std::set<double> shares;
  for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
    const Batch batch = data.validation(k);
    const auto target = batch.target.to_vector<std::int64_t>();
    const auto log_p = log_softmax((*model)(batch.tokens), -1).to_vector<double>();
    const auto classes = log_p.size() / target.size();
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (target[i] == -100) continue;
      sum -= log_p[i * classes + static_cast<std::size_t>(target[i])];
      ++count;
    }
    shares.insert(static_cast<double>(batch.predicted) / static_cast<double>(target.size()));
  }
  REQUIRE(shares.size() > 1);
  const Evaluation evaluation = evaluate(*model, data);
  CHECK(evaluation.predicted == count);
  CHECK(evaluation.loss == doctest::Approx(sum / count).epsilon(1e-12));
}

TEST_CASE("a classifier's accuracy") {
  const SmallTask small = small_task("gmlp", Task::classifier);
  TrainOptions options = small_options(60);
  options.schedule.peak = 5e-3;
  Trainer trainer(*small.model, *small.data, options);
  const RunResult result = trainer.run({});
  CHECK(result.evaluation->metric("accuracy") == 1);
  CHECK(result.evaluation->predicted == 6);
}

TEST_CASE("evaluation records nothing on a tape") {
  const SmallTask small = small_task("tnn", Task::causal_lm);
  Tape tape;
  (void)evaluate(*small.model, *small.data);
  CHECK(tape.records() == 0);
}

TEST_CASE("an evaluation has exactly the metrics of its data") {
  const SmallTask lm = small_task("gmlp", Task::causal_lm), classifier = small_task("gmlp", Task::classifier);
  CHECK(evaluate(*lm.model, *lm.data).metrics.empty());
  CHECK_THROWS_WITH((void)evaluate(*lm.model, *lm.data).metric("accuracy"),
                    "[evaluate] the metric \"accuracy\" was not measured");
  const Evaluation evaluation = evaluate(*classifier.model, *classifier.data);
  REQUIRE(evaluation.metrics.size() == 2);
  CHECK(evaluation.metrics[0].name == "accuracy");
  CHECK(evaluation.metrics[1].name == "macro F1");
  CHECK(evaluation.metric("macro F1") == evaluation.confusion->macro_average().f1);
  CHECK(evaluation.metric("accuracy") == evaluation.metrics[0].value);

  // Rows 0 and 2 of this batch are correct. Row 1 has equal logits, so the first class wins.
  const auto meter = classifier.data->meter();
  const Tensor logits = Tensor::from<double>({1, 3, 2, 5, 5, 0, -1, -2, -3}, {3, 3});
  meter->add(logits, {{}, Tensor::from<std::int64_t>({1, 1, 0}, {3}), 3});
  CHECK(meter->metrics()[0].value == 2.0 / 3);
  CHECK(meter->metrics()[1].value == doctest::Approx((2.0 / 3 + 2.0 / 3) / 2));  // the third label doesn't occur
  meter->add(logits, {{}, Tensor::from<std::int64_t>({0, 0, 0}, {3}), 3});
  CHECK(meter->metrics()[0].value == 4.0 / 6);
}

// Custom data whose loss counts only the last symbol of each row. The metrics are the number of rows and half of this
// number.
TEST_CASE("data with a custom loss and custom metrics") {
  class LastSymbol : public TextData {
   public:
    using TextData::TextData;
    Tensor loss(const Tensor& output, const Batch& batch) const override {
      const std::int64_t n = output.size(1);
      return cross_entropy(slice(output, 1, n - 1, n), slice(batch.target, 1, n - 1, n));
    }
    std::unique_ptr<Meter> meter() const override {
      class Count : public Meter {
        void add(const Tensor& output, const Batch&) override { count_ += static_cast<double>(output.size(0)); }
        std::vector<Metric> metrics() const override { return {{"rows", count_}, {"half", count_ / 2}}; }
        double count_ = 0;
      };
      return std::make_unique<Count>();
    }
  };
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const LastSymbol data(small_text(), small.data->tokenizer(), Task::causal_lm, 16, 4);
  const Evaluation own = evaluate(*small.model, data);
  CHECK(own.loss != evaluate(*small.model, *small.data).loss);
  CHECK(own.metric("half") * 2 == own.metric("rows"));
  CHECK(own.metric("rows") >= static_cast<double>(data.validation_batches()));

  Trainer trainer(*small.model, data, small_options(1));
  const Batch batch = data.training(0, Random(small_options(1).seed).split(1));
  const SmallTask same = small_task("gmlp", Task::causal_lm);
  const Random dropout = Random(small_options(1).seed).split(2).split(0);
  const double want = data.loss((*same.model)(batch.tokens, &dropout), batch).item();
  CHECK(trainer.step() == doctest::Approx(want).epsilon(1e-6));
}

}  // namespace weft::test
