// Training from C (weft/weft_c.h).
#include "c/call.h"
#include "weft/fit.h"
#include "weft/run_folder.h"
#include "weft/split.h"

using namespace weft;
using namespace weft::detail;

namespace {

FitOptions fit_options(const weft_train_options& given) {
  check_struct_size(given, "weft_train_options", "WEFT_TRAIN_OPTIONS_INIT");
  check_given(given.arch, "options->arch");
  check_given(given.task, "options->task");
  if (given.length < 0 || given.batch < 1 || given.steps < 0)
    fail_argument("expected a length and steps of at least 0 and a batch of at least 1, got " +
                  std::to_string(given.length) + ", " + std::to_string(given.steps) + " and " +
                  std::to_string(given.batch));
  FitOptions options;
  options.arch = given.arch;
  options.task = task_from_name(given.task);
  if (given.config != nullptr) options.config = given.config;
  if (given.tokenizer != nullptr) options.tokenizer = given.tokenizer;
  options.length = given.length;
  options.batch = given.batch;
  if (given.steps > 0) options.steps = given.steps;
  options.lr = given.learning_rate;
  options.seed = given.seed;
  return options;
}

std::vector<std::string> strings_of(const char* const* list, std::size_t size, const char* name) {
  check_list(list, size, name);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < size; ++i) {
    if (list[i] == nullptr) fail_argument(std::string(name) + "[" + std::to_string(i) + "] is NULL");
    all.emplace_back(list[i]);
  }
  return all;
}

}  // namespace

weft_status weft_train(const char* const* texts, const char* const* labels, std::size_t rows,
                       const weft_train_options* options, const char* folder) {
  return call("weft_train", [&] {
    check_given(folder, "folder");
    const weft_train_options usual = WEFT_TRAIN_OPTIONS_INIT;
    const weft_train_options& given = options != nullptr ? *options : usual;
    const FitOptions fit_as = fit_options(given);
    LabeledOptions labeled;
    labeled.labels_are_texts = fit_as.task == Task::retrieval;
    LabeledTexts training = labeled_rows(strings_of(texts, rows, "texts"), strings_of(labels, rows, "labels"), labeled);
    if (const std::string saved = given.overwrite != 0 ? "" : saved_run(folder); !saved.empty())
      throw Error("[train] \"" + saved + "\" already exists; to replace it, set options->overwrite");
    LabeledTexts held = hold_out(training, given.validation, given.seed);
    RunOptions run;
    run.folder = folder;
    run.eval_every = 0;
    if (given.progress != nullptr)
      run.progress = [&](const Progress& p) {
        return from_callback([&] { return given.progress(given.user, p.step, p.steps, p.loss) == 0; });
      };
    (void)fit(std::move(training), std::move(held), fit_as, run);
  });
}
