#include "weft/task_data.h"

#include <string>

#include "weft/pair_data.h"

namespace weft {

namespace {

[[noreturn]] void refuse(const char* option, const TargetKind& targets, bool numbers) {
  throw Error(std::string("[rows] ") + option + " can't be used with the task " + task_name(targets.task) + " and " +
              (numbers ? "rows of numbers" : "texts"));
}

void check_options(const RowTask& task, const TaskDataOptions& o) {
  const bool numbers = task.input.defined(), classes = task.targets.task == Task::classifier && !numbers;
  const bool learns = o.learning.balance != Balance::none || o.learning.focal_gamma != 0 || o.learning.huber_delta != 0;
  const auto check = [&](bool given, bool applies, const char* option) {
    if (given && !applies) refuse(option, task.targets, numbers);
  };
  check(o.word_dropout != 0, classes, "word dropout");
  check(o.augmentation.flips || o.augmentation.shift != 0, numbers, "augmentation");
  check(learns, task.targets.task != Task::retrieval, "an option of the loss");
  if (numbers == (task.tokenizer != nullptr)) throw Error("[rows] expected either a tokenizer or an input of numbers");
  if (numbers && task.targets.task == Task::retrieval)
    throw Error("[rows] the task retrieval needs pairs of texts, got rows of numbers");
}

}  // namespace

const char* usual_tokenizer(Task task) noexcept {
  if (task_source(task) == Source::text) return "characters";
  return task == Task::tagging ? "whitespace" : "words";
}

Texts texts_to_learn(const LabeledTexts& rows, Task task) {
  const auto use_each = [](const std::vector<std::string>& texts, const auto& use) {
    for (const std::string_view text : texts) {
      const std::size_t end = text.find(pair_separator);
      use(text.substr(0, end));
      if (end != std::string_view::npos) use(text.substr(end + 1));
    }
  };
  return [&rows, task, use_each](const auto& use) {
    use_each(rows.texts, use);
    if (task == Task::retrieval) use_each(rows.names, use);
  };
}

std::unique_ptr<Data> task_data(LabeledTexts training, LabeledTexts validation, const RowTask& task,
                                const TaskDataOptions& o) {
  check_options(task, o);
  if (task.input.defined())
    return frame_data(std::move(training), std::move(validation), task.targets, task.input, o.length, o.batch,
                      o.augmentation, o.learning);
  switch (task.targets.task) {
    case Task::classifier:
      return std::make_unique<ClassifierData>(training, validation, task.tokenizer, o.length, o.batch, o.padding,
                                              o.word_dropout, o.learning);
    case Task::retrieval: return std::make_unique<PairData>(training, validation, task.tokenizer, o.length, o.batch);
    default: return target_data(training, validation, task.targets, task.tokenizer, o.length, o.batch, o.learning);
  }
}

}  // namespace weft
