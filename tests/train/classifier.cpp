// Tests of the results of a trained classifier: for single texts, for several texts, on several threads, and compared
// with an evaluation.
#include "weft/classifier.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

#include "random_parameters.h"
#include "sweep.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/ops.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// Texts of 1 to 12 words, some of them unknown. The longest texts exceed the length of the model's rows.
std::vector<std::string> some_texts(int count = sweep(40, 12)) {
  const char* words[] = {"red", "green", "blue", "one", "two", "and", "north", "Unheard-of"};
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (int k = 0; k <= i * 5 % 12; ++k) text += std::string(words[(i + 3 * k) % 8]) + (k % 4 == 3 ? ", " : " ");
    texts.push_back(text);
  }
  texts.push_back("");
  return texts;
}

struct TrainedClassifier {
  Checkpoint checkpoint;
  std::unique_ptr<Data> data;  // its validation rows are some_texts
};

// Makes a model whose parameters differ from those of all other tests.
TrainedClassifier made(const std::string& arch, Padding padding, std::int64_t d_model = 16) {
  TrainedClassifier t;
  LabeledTexts rows = small_rows();
  rows.names = {"colour", "number", "wind"};
  const auto v = words(rows.texts);
  const std::string config = R"({"layers":2,"d_model":)" + std::to_string(d_model) + R"(,"seq_len":10})";
  t.checkpoint.model = make_model({arch, Task::classifier, v->size(), 3, config}, {Random(3), DType::f32});
  randomize(t.checkpoint.model->parameters());
  t.checkpoint.tokenizer = v;
  t.checkpoint.info.labels = rows.names;
  t.checkpoint.info.length = 10;
  t.checkpoint.info.pad_to = padding == Padding::full ? 10 : 0;
  LabeledTexts validation;
  validation.texts = some_texts();
  for (std::size_t i = 0; i < validation.texts.size(); ++i)
    validation.labels.push_back(static_cast<std::int64_t>(i % 3));
  validation.names = rows.names;
  t.data = std::make_unique<ClassifierData>(rows, validation, v, 10, 64, padding);
  return t;
}

}  // namespace

TEST_CASE("classifier: a text gives the same bits alone, with others in any order, and for any number of threads") {
  for (const std::string& arch : own_architectures)
    for (const Padding padding : {Padding::exact, Padding::full})
      for (const std::int64_t d_model :
           // products of few rows have a different order of summation, which may depend on their length
           {16, sweep(200, 100)}) {
        CAPTURE(arch);
        CAPTURE(d_model);
        const Classifier classifier(std::move(made(arch, padding, d_model).checkpoint));
        std::vector<std::string> texts = some_texts();
        std::vector<std::vector<double>> alone;
        for (const std::string& text : texts) alone.push_back(classifier.probabilities(text));
        for (const std::vector<double>& p : alone) CHECK(p[0] + p[1] + p[2] == doctest::Approx(1).epsilon(1e-14));
        CHECK(alone[0] != alone[1]);
        for (int threads : {1, 2, 3}) {
          Context context;
          context.set_threads(threads);
          const ContextScope scope(context);
          CHECK(classifier.probabilities(texts) == alone);
        }
        std::reverse(texts.begin(), texts.end());
        std::reverse(alone.begin(), alone.end());
        CHECK(classifier.probabilities(texts) == alone);
        texts.resize(3);
        alone.resize(3);
        CHECK(classifier.probabilities(texts) == alone);
      }
}

namespace {

// Keeps what a model computes during evaluation: the tokens and logits of each row.
struct Kept : Meter {
  explicit Kept(std::map<std::vector<std::int64_t>, std::vector<double>>& all) : rows(all) {}
  void add(const Tensor& output, const Batch& batch) override {
    const std::vector<double> logits = raw::convert(output, DType::f64).to_vector<double>();
    const std::vector<std::int64_t> tokens = batch.tokens.to_vector<std::int64_t>();
    const auto n = static_cast<std::ptrdiff_t>(batch.tokens.size(1));
    for (std::ptrdiff_t i = 0; i < batch.tokens.size(0); ++i)
      rows[{tokens.begin() + i * n, tokens.begin() + (i + 1) * n}] = {logits.begin() + 3 * i,
                                                                      logits.begin() + 3 * i + 3};
  }
  std::vector<Metric> metrics() const override { return {}; }
  std::map<std::vector<std::int64_t>, std::vector<double>>& rows;
};

struct KeepingData : ClassifierData {
  using ClassifierData::ClassifierData;
  std::unique_ptr<Meter> meter() const override { return std::make_unique<Kept>(rows); }
  mutable std::map<std::vector<std::int64_t>, std::vector<double>> rows;
};

std::vector<double> softmax_of(std::vector<double> p) {
  const double highest = *std::max_element(p.begin(), p.end());
  for (double& x : p) x = std::exp(x - highest);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

}  // namespace

TEST_CASE("classifier: evaluation measures the classifier's own results, bit by bit") {
  for (const std::string& arch : own_architectures)
    for (const Padding padding : {Padding::exact, Padding::full}) {
      CAPTURE(arch);
      TrainedClassifier t = made(arch, padding, sweep(200, 100));
      const std::vector<std::string> texts = some_texts();
      LabeledTexts rows = small_rows();
      rows.texts = texts;
      rows.labels.assign(texts.size(), 0);
      for (std::size_t i = 0; i < texts.size(); ++i) rows.labels[i] = static_cast<std::int64_t>(i % 3);
      const KeepingData data({}, rows, t.checkpoint.tokenizer, 10, 64, padding);
      const Evaluation evaluation = evaluate(*t.checkpoint.model, data),
                       measured = evaluate(*t.checkpoint.model, *t.data);
      CHECK(evaluation.loss == measured.loss);
      const auto v = t.checkpoint.tokenizer;
      const Classifier classifier(std::move(t.checkpoint));
      const auto all = classifier.probabilities(texts);
      std::int64_t right = 0;
      double loss = 0;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        right += classifier(texts[i]).label == classifier.labels()[i % 3];
        loss -= std::log(all[i][i % 3]) / static_cast<double>(texts.size());
        std::vector<std::int64_t> row = {*v->special().cls};
        for (std::int64_t id : v->encode(texts[i]))
          if (row.size() < 10) row.push_back(id);
        if (padding == Padding::full) row.resize(10, *v->special().pad);
        REQUIRE(data.rows.count(row) == 1);
        CHECK(softmax_of(data.rows.at(row)) == all[i]);
      }
      CHECK(measured.metric("accuracy") == static_cast<double>(right) / static_cast<double>(texts.size()));
      CHECK(measured.loss == doctest::Approx(loss).epsilon(1e-5));
    }
}

TEST_CASE("classifier: padding changes the results, so rows are padded as in training") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const Classifier exact(std::move(made(arch, Padding::exact).checkpoint));
    const Classifier full(std::move(made(arch, Padding::full).checkpoint));
    CHECK(exact.probabilities("red green") != full.probabilities("red green"));
    const std::string ten = "red one two and north red one two and and";
    CHECK(exact.probabilities(ten) == full.probabilities(ten));
    CHECK(exact.probabilities(ten) == exact.probabilities(ten + " blue"));  // the text is truncated to nine words
    CHECK(exact.probabilities("red one two and north red one two and") == exact.probabilities(ten));
  }
}

TEST_CASE("classifier: the number of texts that were truncated") {
  const Classifier classifier(std::move(made("gmlp", Padding::exact).checkpoint));
  const std::string nine = "red one two and north red one two and", five = "red one two and north";
  (void)classifier.probabilities(
      std::vector<std::string>{nine, five, text_pair(five, "red one two")});  // [cls] is the tenth
  CHECK(classifier.truncated() == 0);
  (void)classifier.probabilities(std::vector<std::string>{nine + " red", five, text_pair(five, "red one two and")});
  CHECK(classifier.truncated() == 2);
}

TEST_CASE("classifier: threads may share a classifier") {
  const Classifier classifier(std::move(made("tnn", Padding::exact).checkpoint));
  const std::vector<std::string> texts = some_texts(12);
  const auto want = classifier.probabilities(texts);
  std::vector<std::thread> threads;
  std::vector<std::vector<std::vector<double>>> got(4);
  for (std::size_t k = 0; k < got.size(); ++k)
    threads.emplace_back([&, k] { got[k] = classifier.probabilities(texts); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : got) CHECK(each == want);
}

TEST_CASE("classifier: the best labels") {
  const Classifier classifier(std::move(made("gmlp", Padding::exact).checkpoint));
  const auto best = [&](std::int64_t top, double threshold) {
    std::string text;
    for (const Prediction& p : classifier.best({0.25, 0.5, 0.25}, top, threshold))
      text += p.label + " " + std::to_string(p.probability).substr(0, 4) + ";";
    return text;
  };
  CHECK(best(1, 0) == "number 0.50;");
  CHECK(best(2, 0) == "number 0.50;colour 0.25;");
  CHECK(best(0, 0) == "number 0.50;colour 0.25;wind 0.25;");
  CHECK(best(9, 0.25) == "number 0.50;colour 0.25;wind 0.25;");
  CHECK(best(9, 0.26) == "number 0.50;");
  CHECK(best(9, 0.6).empty());
  CHECK_THROWS_AS((void)classifier.best({0.5, 0.5}), Error);
  const auto p = classifier.probabilities("red");
  const auto highest = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  CHECK(classifier("red").label == classifier.labels()[highest]);
  CHECK(classifier("red").probability == p[highest]);
}

TEST_CASE("classifier: invalid classifiers and texts") {
  const TemporaryFolder folder;
  const SmallTask lm = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "lm", *lm.model, *lm.data->tokenizer());
  CHECK_THROWS_WITH(Classifier(load_checkpoint(folder / "lm")),
                    "[classifier] expected a classifier, got a model for the task causal-lm");
  const Classifier classifier(std::move(made("gmlp", Padding::exact).checkpoint));
  CHECK_THROWS_AS((void)classifier.probabilities("caf\xE9"), Error);
  CHECK_THROWS_AS((void)classifier.probabilities(std::vector<std::string>{"a", "caf\xE9"}), Error);
  CHECK(classifier.probabilities(std::vector<std::string>{}).empty());
  for (const std::string arch : {"gmlp", "tnn"}) {  // the second one takes any length
    TrainedClassifier longer = made(arch, Padding::full);
    longer.checkpoint.info.pad_to = arch == "gmlp" ? 11 : INT64_MAX;
    CHECK_THROWS_WITH(Classifier(std::move(longer.checkpoint)),
                      doctest::Contains(arch == "gmlp" ? "padded to 11 tokens, but the model takes at most 10"
                                                       : "doesn't fit into memory"));
  }
  TrainedClassifier broken = made("gmlp", Padding::exact);
  NamedParameters parameters = broken.checkpoint.model->parameters();
  parameters[0].second.assign(Tensor::full(parameters[0].second.value().shape(), std::nan(""), DType::f32));
  CHECK_THROWS_WITH((void)Classifier(std::move(broken.checkpoint)).probabilities("red"),
                    "[classifier] the model's logits are not finite");
}

TEST_CASE("classifier: a trained checkpoint returns its labels by name, for any order in the file") {
  const TemporaryFolder folder;
  for (const Padding padding : {Padding::exact, Padding::full}) {
    LabeledTexts rows = small_rows();
    rows.names = {"zebra", "ant", "bee"};  // an order that options.labels may have
    const LabeledTexts test = every_tenth(rows);
    const auto v = words(rows.texts);
    const ClassifierData data(rows, test, v, 8, 4, padding);
    const auto model = make_model({"gmlp", Task::classifier, v->size(), 3, R"({"d_model":16,"layers":1,"seq_len":8})"},
                                  {Random(3), DType::f32});
    TrainOptions options;
    options.schedule.steps = 60;
    options.schedule.warmup = 5;
    options.schedule.peak = 5e-3;
    Trainer trainer(*model, data, options);
    RunOptions run;
    run.folder = folder / "run";
    (void)trainer.run(run);
    const Classifier classifier(load_checkpoint(run.folder));
    CHECK(classifier.checkpoint().info.pad_to == (padding == Padding::full ? 8 : 0));
    CHECK(classifier("red green blue and 7").label == "zebra");
    CHECK(classifier("One, two, three").label == "ant");
    CHECK(classifier("north south west").label == "bee");
  }
}

}  // namespace weft::test
