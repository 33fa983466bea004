// Helpers for the tests of training: a small text and small models.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "weft/architecture.h"
#include "weft/classifier_data.h"
#include "weft/pair_data.h"
#include "weft/row_data.h"
#include "weft/split.h"
#include "weft/trainer.h"

namespace weft::test {

inline std::string small_text() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i * 7) + ": the quick brown fox – jumps\n";
  return text;
}

// A tokenizer of characters, with a mask symbol for masked language models.
inline std::shared_ptr<const Tokenizer> characters(const std::string& text, Task task = Task::causal_lm) {
  TokenizerOptions options;
  options.task = task;
  return learn_tokenizer("characters", text, options);
}

// A tokenizer of words, for classifiers.
inline std::shared_ptr<const Tokenizer> words(const std::vector<std::string>& texts, std::int64_t size = 0,
                                              std::int64_t min_count = 1) {
  return learn_tokenizer("words", texts, {Task::classifier, size, min_count});
}

inline LabeledTexts small_rows() {
  LabeledTexts rows;
  rows.names = {"1", "2", "3"};
  const char* texts[] = {"red green blue", "one two three", "north south west"};
  for (int i = 0; i < 60; ++i) {
    rows.labels.push_back(i % 3);
    rows.texts.push_back(std::string(texts[i % 3]) + " and " + std::to_string(i));
  }
  return rows;
}

struct Sizes {
  std::int64_t d_model = 16, length = 16, batch = 4;
};

inline std::unique_ptr<Model> small_model(const std::string& arch, Task task, std::int64_t vocabulary,
                                          std::int64_t classes, const Sizes& sizes) {
  const std::string config = R"({"layers":2,"dropout":0.1,"d_model":)" + std::to_string(sizes.d_model) +
                             R"(,"seq_len":)" + std::to_string(sizes.length) + "}";
  return make_model({arch, task, vocabulary, classes, config}, {Random(3), DType::f32});
}

// Returns the target of row k for n tokens and three outputs. The task is not a classifier.
inline Tensor small_target(Task task, std::int64_t k, std::int64_t n) {
  if (task == Task::tagging) {
    std::vector<std::int64_t> tags;
    for (std::int64_t i = 0; i < n; ++i) tags.push_back(i % 5 == 4 ? ignored_target : (k + i) % 3);
    return Tensor::from(tags, {n});
  }
  const auto row = static_cast<float>(k);
  if (task == Task::multilabel)
    return Tensor::from<float>({k % 2 == 0 ? 1.f : 0.f, k % 3 == 0 ? 1.f : 0.f, k % 5 == 0 ? 1.f : 0.f}, {3});
  return Tensor::from<float>({row / 30, 1 - row / 30, row * row / 900}, {3});
}

// Rows of tokens for any task on rows except classification. Some rows are shorter than others.
inline std::unique_ptr<Data> small_row_data(Task task, const Sizes& sizes) {
  RowDataOptions options;
  options.task = task;
  options.batch = sizes.batch;
  options.length = sizes.length;
  options.outputs = {"O", "B-x", "I-x"};
  options.tokenizer = words(small_rows().texts);
  const auto row = [tokenizer = options.tokenizer, task, longest = sizes.length](std::int64_t k) {
    std::vector<std::int64_t> ids = tokenizer->encode(small_rows().texts[static_cast<std::size_t>(k)]);
    if (k % 4 == 0) ids.pop_back();
    ids.resize(std::min<std::size_t>(ids.size(), static_cast<std::size_t>(longest)));
    const std::int64_t n = std::ssize(ids);
    return Row{Tensor::from(ids, {n}), {}, small_target(task, k, n)};
  };
  const auto held_out = [row](std::int64_t k) { return row(50 + k); };
  return std::make_unique<RowData>(RowSet{50, row}, RowSet{10, held_out}, options);
}

// Data and model for one task of an architecture.
struct SmallTask {
  std::unique_ptr<Data> data;
  std::unique_ptr<Model> model;
};

inline SmallTask small_task(const std::string& arch, Task task, const Sizes& sizes = {}) {
  SmallTask small;
  if (task == Task::retrieval) {
    LabeledTexts rows = small_rows();
    // Each row has its own label, so that all other pairs are negative examples.
    for (std::int64_t i = 0; i < std::ssize(rows.labels); ++i) {
      rows.labels[static_cast<std::size_t>(i)] = i;
      if (i >= std::ssize(rows.names)) rows.names.push_back(std::to_string(i + 1));
    }
    small.data = std::make_unique<PairData>(rows, rows, words(rows.texts), sizes.length, sizes.batch);
  } else if (task_source(task) == Source::rows && task != Task::classifier) {
    small.data = small_row_data(task, sizes);
  } else if (task == Task::classifier) {
    LabeledTexts rows = small_rows();
    const LabeledTexts test = every_tenth(rows);
    small.data = std::make_unique<ClassifierData>(rows, test, words(rows.texts), sizes.length, sizes.batch);
  } else {
    const auto tokenizer = text_tokenizer(small_text(), task);
    small.data = std::make_unique<TextData>(small_text(), tokenizer, task, sizes.length, sizes.batch);
  }
  const std::int64_t classes = task_source(task) == Source::rows ? 3 : 0;
  small.model = small_model(arch, task, small.data->tokenizer()->size(), classes, sizes);
  return small;
}

inline TrainOptions small_options(std::int64_t steps, std::int64_t micro_batches = 1) {
  TrainOptions options;
  options.micro_batches = micro_batches;
  options.schedule.steps = steps;
  options.schedule.warmup = 3;
  return options;
}

// The elements of all parameters, one after the other.
inline std::vector<float> floats_of(const Model& model) {
  std::vector<float> values;
  for (const auto& [name, parameter] : model.parameters())
    for (const float x : parameter.value().to_vector<float>()) values.push_back(x);
  return values;
}

// Returns the message of the Error that `body` throws, or an empty text if it throws none.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// weft's own architectures, even if a test registers others later.
inline const std::vector<std::string> own_architectures = architectures();

inline Task usual_task(const std::string& arch) { return usual_task(architecture(arch), Source::text); }

inline double metric_of(const Meter& meter, const std::string& name) {
  for (const Metric& one : meter.metrics())
    if (one.name == name) return one.value;
  throw Error("no metric " + name);
}

}  // namespace weft::test
