// Tests of task_data: one function that makes the data of any task that learns from rows.
#include "weft/task_data.h"

#include <doctest/doctest.h>

#include "contains.h"
#include "train_support.h"
#include "weft/pair_data.h"

namespace weft::test {
namespace {

using Strings = std::vector<std::string>;

// Four rows of two words with two different labels.
LabeledTexts four_rows(const Strings& names) {
  LabeledTexts rows;
  rows.texts = {"red blue", "blue red", "red red", "blue blue"};
  rows.labels = {0, 1, 0, 1};
  rows.names = names;
  return rows;
}

// Four rows of one frame with one channel.
LabeledTexts four_frames() {
  LabeledTexts rows = four_rows({"a", "b"});
  rows.channels = 1;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const auto value = static_cast<float>(i);
    rows.texts[i].assign(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return rows;
}

Strings learned(const LabeledTexts& rows, Task task) {
  Strings texts;
  texts_to_learn(rows, task)([&](std::string_view text) { texts.emplace_back(text); });
  return texts;
}

RowTask task_of(Task task, const LabeledTexts& rows) {
  RowTask made{find_targets(task, rows)};
  made.tokenizer = learn_tokenizer(usual_tokenizer(task), texts_to_learn(rows, task), {task, 0, 1});
  return made;
}

TaskDataOptions two_of_four() {
  TaskDataOptions options;
  options.length = 4;
  options.batch = 2;
  return options;
}

}  // namespace

TEST_CASE("task_data: the data of every task on texts are those of its own class") {
  const TaskDataOptions options = two_of_four();
  const auto made = [&](Task task, const LabeledTexts& rows) {
    return task_data(rows, rows, task_of(task, rows), options);
  };
  const LabeledTexts classes = four_rows({"warm", "cold"}), numbers = four_rows({"1", "2.5"}),
                     several = four_rows({"warm|far", "cold"}), tags = four_rows({"A B", "B A"});
  const auto tokens = [](const LabeledTexts& rows, Task task) { return task_of(task, rows).tokenizer; };
  CHECK(made(Task::classifier, classes)->fingerprint() ==
        ClassifierData(classes, classes, tokens(classes, Task::classifier), 4, 2).fingerprint());
  CHECK(made(Task::retrieval, classes)->fingerprint() ==
        PairData(classes, classes, tokens(classes, Task::retrieval), 4, 2).fingerprint());
  for (const auto& [task, rows] :
       {std::pair(Task::regression, numbers), std::pair(Task::multilabel, several), std::pair(Task::tagging, tags)}) {
    const auto data = made(task, rows);
    CHECK(data->task() == task);
    CHECK(data->fingerprint() ==
          target_data(rows, rows, find_targets(task, rows), tokens(rows, task), 4, 2)->fingerprint());
  }
}

TEST_CASE("task_data: padding, word dropout and the options of the loss reach a classifier's data") {
  const LabeledTexts rows = four_rows({"warm", "cold"});
  const RowTask task = task_of(Task::classifier, rows);
  TaskDataOptions options = two_of_four();
  options.padding = Padding::exact;
  options.word_dropout = 0.5;
  options.learning.focal_gamma = 2;
  CHECK(task_data(rows, rows, task, options)->fingerprint() ==
        ClassifierData(rows, rows, task.tokenizer, 4, 2, Padding::exact, 0.5, options.learning).fingerprint());
  CHECK(task_data(rows, rows, task, options)->pad_to() == 0);
  CHECK(task_data(rows, rows, task, two_of_four())->fingerprint() !=
        task_data(rows, rows, task, options)->fingerprint());
}

TEST_CASE("task_data: rows of numbers") {
  const LabeledTexts rows = four_frames();
  RowTask task{find_targets(Task::classifier, rows)};
  task.input = frame_input(rows);
  TaskDataOptions options = two_of_four();
  options.learning.balance = Balance::weights;
  CHECK(task_data(rows, rows, task, options)->fingerprint() ==
        frame_data(rows, rows, task.targets, task.input, 4, 2, {}, options.learning)->fingerprint());
}

TEST_CASE("task_data: options without effect are refused") {
  const LabeledTexts texts = four_rows({"1", "2"}), frames = four_frames();
  const auto error = [&](const RowTask& task, const LabeledTexts& rows, const auto& change) {
    TaskDataOptions options = two_of_four();
    change(options);
    return error_of([&] { (void)task_data(rows, rows, task, options); });
  };
  const auto drops = [](TaskDataOptions& o) { o.word_dropout = 0.1; };
  const auto flips = [](TaskDataOptions& o) { o.augmentation.flips = true; };
  const auto shifts = [](TaskDataOptions& o) { o.augmentation.shift = 1; };
  const auto balances = [](TaskDataOptions& o) { o.learning.balance = Balance::weights; };
  const auto nothing = [](TaskDataOptions&) {};
  RowTask numbers{find_targets(Task::classifier, frames)};
  numbers.input = frame_input(frames);
  CHECK(contains(error(task_of(Task::regression, texts), texts, drops),
                 "word dropout can't be used with the task regression and texts"));
  CHECK(contains(error(numbers, frames, drops), "word dropout can't be used with the task classifier and rows of"));
  CHECK(contains(error(task_of(Task::classifier, texts), texts, flips), "augmentation can't be used with"));
  CHECK(contains(error(task_of(Task::classifier, texts), texts, shifts), "augmentation can't be used with"));
  CHECK(contains(error(task_of(Task::retrieval, texts), texts, balances), "an option of the loss can't be used with"));
  CHECK(error(task_of(Task::classifier, texts), texts, drops) == "");
  CHECK(contains(error({find_targets(Task::classifier, texts)}, texts, nothing), "expected either a tokenizer or an"));
  RowTask both = numbers;
  both.tokenizer = task_of(Task::classifier, texts).tokenizer;
  CHECK(contains(error(both, frames, nothing), "expected either a tokenizer or an input"));
  numbers.targets = find_targets(Task::retrieval, frames);
  CHECK(contains(error(numbers, frames, nothing), "the task retrieval needs pairs of texts"));
}

TEST_CASE("task_data: a tokenizer learns from both texts of a pair, and for retrieval also from the labels") {
  LabeledTexts rows = four_rows({"warm", "cold"});
  rows.texts = {"a", std::string("b") + pair_separator + "c"};
  CHECK(learned(rows, Task::classifier) == Strings{"a", "b", "c"});
  CHECK(learned(rows, Task::retrieval) == Strings{"a", "b", "c", "warm", "cold"});
  CHECK(usual_tokenizer(Task::tagging) == std::string("whitespace"));
  CHECK(usual_tokenizer(Task::masked_lm) == std::string("characters"));
  CHECK(usual_tokenizer(Task::retrieval) == std::string("words"));
}

}  // namespace weft::test
