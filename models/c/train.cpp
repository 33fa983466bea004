// Training from C (weft/weft_c.h).
#include <unordered_map>

#include "c/call.h"
#include "weft/fit.h"
#include "weft/run_folder.h"
#include "weft/split.h"

using namespace weft;
using namespace weft::detail;

namespace {

void check_size(const weft_train_options& given) {
  if (given.struct_size < sizeof(weft_train_options))
    fail_argument("options->struct_size is " + std::to_string(given.struct_size) +
                  ", expected sizeof(weft_train_options), " + std::to_string(sizeof(weft_train_options)));
}

FitOptions fit_options(const weft_train_options& given) {
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

LabelledTexts rows_of(const char* const* texts, const char* const* labels, std::size_t rows) {
  check_list(texts, rows, "texts");
  check_list(labels, rows, "labels");
  LabelledTexts all;
  std::unordered_map<std::string, std::int64_t> index;
  for (std::size_t i = 0; i < rows; ++i) {
    if (texts[i] == nullptr || labels[i] == nullptr)
      fail_argument((texts[i] == nullptr ? "texts[" : "labels[") + std::to_string(i) + "] is NULL");
    const auto [label, is_new] = index.emplace(labels[i], std::ssize(all.names));
    if (is_new) all.names.push_back(label->first);
    all.texts.emplace_back(texts[i]);
    all.labels.push_back(label->second);
  }
  return all;
}

// Whether the run continues.
bool give_progress(const weft_train_options& options, const Progress& progress) {
  try {
    return options.progress(options.user, progress.step, progress.steps, progress.loss) == 0;
  } catch (const std::exception& error) {
    throw CallError(WEFT_CALLBACK_FAILED, std::string("the callback threw: ") + error.what());
  } catch (...) {
    throw CallError(WEFT_CALLBACK_FAILED, "the callback threw an exception of an unknown type");
  }
}

}  // namespace

weft_status weft_train(const char* const* texts, const char* const* labels, std::size_t rows,
                       const weft_train_options* options, const char* folder) {
  return call("weft_train", [&] {
    check_given(folder, "folder");
    const weft_train_options usual = WEFT_TRAIN_OPTIONS_INIT;
    const weft_train_options& given = options != nullptr ? *options : usual;
    check_size(given);
    const FitOptions fit_as = fit_options(given);
    LabelledTexts training = rows_of(texts, labels, rows);
    if (const std::string saved = given.overwrite != 0 ? "" : saved_run(folder); !saved.empty())
      throw Error("[train] \"" + saved + "\" already exists (options->overwrite replaces it)");
    LabelledTexts held = hold_out(training, given.validation, given.seed);
    RunOptions run;
    run.folder = folder;
    run.eval_every = 0;
    if (given.progress != nullptr) run.progress = [&](const Progress& p) { return give_progress(given, p); };
    (void)fit(std::move(training), std::move(held), fit_as, run);
  });
}
