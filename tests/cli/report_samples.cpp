// Tests a classifier's samples in a report. The errors shown are the rows that the model misclassifies.
#include <doctest/doctest.h>

#include "report/samples.h"
#include "train_support.h"
#include "weft/confusion.h"
#include "weft/ops.h"

namespace weft::test {

TEST_CASE(
    "report of a classifier: examples are the rows that are wrong, beyond the first batch, with their probability") {
  const std::string config = R"({"layers":1,"d_model":8,"seq_len":8})";
  LabeledTexts rows;
  rows.names = {"red", "green", "blue"};
  for (int i = 0; i < 50; ++i) {
    rows.texts.push_back("row w" + std::to_string(i));
    rows.labels.push_back(0);
  }
  rows.texts[40] += " " + std::string(500, 'x') + "é";
  Checkpoint checkpoint;
  checkpoint.info.labels = rows.names;
  checkpoint.info.length = checkpoint.info.pad_to = 8;
  checkpoint.tokenizer = words(rows.texts);
  checkpoint.model =
      make_model({"gmlp", Task::classifier, checkpoint.tokenizer->size(), 3, config}, {Random(3), DType::f32});
  const auto data = [&](std::int64_t batch) {
    return ClassifierData(LabeledTexts(), rows, checkpoint.tokenizer, 8, batch);
  };
  const Tensor logits = (*checkpoint.model)(data(50).validation(0).tokens);
  const std::vector<std::int64_t> given = predicted_labels(logits);
  const std::vector<float> p = softmax(logits, -1).to_vector<float>();
  for (std::size_t i = 0; i < 50; ++i) rows.labels[i] = i < 40 ? given[i] : (given[i] + 1) % 3;  // ten wrong labels
  report::Validation validation;
  validation.rows = rows;
  validation.of = 50;
  const Classifier classifier(std::move(checkpoint));
  const report::Json sample =
      report::confusion_sample(classifier, validation, classifier.probabilities(validation.rows.texts));
  CHECK(sample["accuracy"] == 0.8);
  CHECK(sample["rows"] == 50);
  CHECK(sample["labels"].dump() == R"(["red","green","blue"])");
  CHECK_FALSE(sample["examples"].empty());
  for (const report::Json& example : sample["examples"]) {
    const std::string text = example["text"];
    const auto row = static_cast<std::size_t>(std::stoi(text.substr(5)));
    CAPTURE(row);
    CHECK(row >= 40);
    CHECK(example["predicted"] == given[row]);
    CHECK(example["actual"] == rows.labels[row]);
    CHECK(example["probability"].get<double>() ==
          doctest::Approx(p[row * 3 + static_cast<std::size_t>(given[row])]).epsilon(1e-3));
    CHECK(text.size() < 410);
  }
}

}  // namespace weft::test
