// What the tests of training share: a small text, small models.
#pragma once
#include <memory>
#include <string>

#include "weft/data.h"
#include "weft/model.h"

namespace weft::test {

inline std::string small_text() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i * 7) + ": the quick brown fox – jumps\n";
  return text;
}

inline LabelledTexts small_rows() {
  LabelledTexts rows;
  rows.classes = 3;
  const char* words[] = {"red green blue", "one two three", "north south west"};
  for (int i = 0; i < 60; ++i) {
    rows.labels.push_back(i % 3);
    rows.texts.push_back(std::string(words[i % 3]) + " and " + std::to_string(i));
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

// Data and model for one task of an architecture.
struct SmallTask {
  std::unique_ptr<Data> data;
  std::unique_ptr<Model> model;
};

inline SmallTask small_task(const std::string& arch, Task task, const Sizes& sizes = {}) {
  SmallTask small;
  if (task == Task::classifier) {
    LabelledTexts rows = small_rows();
    const LabelledTexts test = hold_out(rows);
    small.data = std::make_unique<ClassifierData>(rows, test, Vocabulary::of_words(rows.texts), sizes.length,
                                                  sizes.batch);
  } else {
    const auto vocabulary = Vocabulary::of_characters(small_text(), task == Task::masked_lm);
    small.data = std::make_unique<TextData>(small_text(), vocabulary, task, sizes.length, sizes.batch);
  }
  small.model = small_model(arch, task, small.data->vocabulary().size(), task == Task::classifier ? 3 : 0, sizes);
  return small;
}

inline Task usual_task(const std::string& arch) { return arch == "fnet" ? Task::masked_lm : Task::causal_lm; }

}  // namespace weft::test
