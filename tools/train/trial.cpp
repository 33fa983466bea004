#include "train/trial.h"
#include "options/forget_validation.h"

#include <weft/checkpoint.h>
#include <weft/quantize.h>
#include <weft/run_folder.h>

#include <algorithm>
#include <filesystem>

#include "console/command.h"
#include "console/number.h"
#include "console/progress.h"
#include "console/report.h"
#include "console/terminal.h"
#include "train/divided_rows.h"
#include "train/run_settings.h"
#include "train/series_data.h"
#include "train/stop_signal.h"
#include "train/train_data.h"

namespace {

namespace fs = std::filesystem;

// CLI::App has pointers into the options, so both are members of one object.
struct Parsed {
  explicit Parsed(const std::vector<std::string>& given) {
    options.add_to(command);
    std::vector<std::string> reversed(given.rbegin(), given.rend());
    try {
      command.parse(reversed);
    } catch (const CLI::ParseError& error) {
      throw UsageError(error.what());
    }
    options.parsed();
    if (describes_run(options.model.settings()))
      throw UsageError("weft tune can't use \"" + options.model.settings_name() +
                       "\", which fixes all settings of a run: give those that all trials share as options after --");
    check_partners(command);
  }
  TrainOptions options;
  CLI::App command;
};

// Returns the total size of the files in a folder, in bytes.
std::int64_t folder_bytes(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) bytes += static_cast<std::int64_t>(entry.file_size());
  return bytes;
}

TrialResult without_score(const std::string& why, Fault fault = Fault::none) { return {{}, why, fault, ""}; }

std::string describe_bytes(std::int64_t bytes) { return grouped(bytes) + " bytes"; }

// Saves the 8-bit version of a checkpoint.
weft::Checkpoint save_in_8_bits(const std::string& from, const std::string& folder) {
  weft::Checkpoint checkpoint = weft::load_checkpoint(from, weft::Purpose::inference);
  weft::quantize(*checkpoint.model, weft::Quantization::int8);
  forget_validation(checkpoint.info);
  weft::save_checkpoint(folder, *checkpoint.model, *checkpoint.tokenizer, checkpoint.info);
  return checkpoint;
}

// Returns the size of the untrained model's checkpoint in 8 bits. Training hardly changes this size.
std::int64_t untrained_bytes(const TrainOptions& o, const Training& training, const weft::Trainer& trainer) {
  const std::string folder = o.out + "/untrained";
  fs::create_directories(folder);
  weft::CheckpointInfo info = trainer.checkpoint_info();
  info.card.license = o.license;
  info.card.about = o.about;
  weft::save_checkpoint(folder, *training.model, *training.data->tokenizer(), info);
  (void)save_in_8_bits(folder, folder);
  const std::int64_t bytes = folder_bytes(folder);
  fs::remove_all(folder);
  return bytes;
}

// Returns the result of a trial whose validation gave the metric. `size` describes the size of the checkpoint.
TrialResult with_score(const weft::Metric& metric, const std::string& size, const std::string& folder) {
  const std::string value = metric.name == "loss" ? as_text(metric.value) : metric_text(metric);
  return {metric.lower_is_better ? -metric.value : metric.value, metric.name + " " + value + size, Fault::none, folder};
}

// Quantizes the run's best checkpoint to 8 bits, saves it, and measures it.
TrialResult quantized(const TrainOptions& o, const Training& training, const TrialLimits& limits) {
  const std::string folder = o.out + "/int8";
  const weft::Checkpoint checkpoint = save_in_8_bits(weft::best_path(o.out), folder);
  const std::int64_t bytes = folder_bytes(folder);
  if (bytes > limits.bytes) return without_score("too large: " + describe_bytes(bytes), Fault::too_large);
  const weft::Evaluation measured = weft::evaluate(*checkpoint.model, *training.data);
  weft::Metric metric = training.best_by;
  metric.value = metric.name == "loss" ? measured.loss : measured.metric(metric.name);
  return with_score(metric, ", " + describe_bytes(bytes), folder);
}

TrialResult in_full(const TrainOptions& o, const Training& training, const weft::Trainer& trainer) {
  weft::Metric metric = training.best_by;
  metric.value = metric.name == "loss" ? trainer.best()->loss : trainer.best()->metric;
  return with_score(metric, "", weft::best_path(o.out));
}

}  // namespace

TrialRows rows_of_trials(const std::vector<std::string>& options) {
  const Parsed parsed(options);
  const TrainOptions& o = parsed.options;
  if (o.data.empty() || is_forecast(o))
    throw UsageError("weft tune accepts labeled rows (--data), but neither plain texts nor forecasts");
  const weft::Task task = o.model.spec(weft::Source::rows).task;
  if (o.best_by != "loss") (void)load_training(o);  // refuses a metric that the task does not have
  return {task, divided_rows(o, task).training.content()};
}

TrialResult run_trial(const std::vector<std::string>& options, const TrialLimits& limits) {
  Parsed parsed(options);
  TrainOptions& o = parsed.options;
  fs::remove_all(o.out);
  Training training = load_training(o);
  choose_steps(o, training);
  if (limits.bytes > 0) {  // a model that is too large need not be trained; each parameter takes at least a byte
    const std::int64_t parameters = weft::parameter_count(training.model->parameters());
    if (parameters > limits.bytes)
      return without_score("too large: " + grouped(parameters) + " parameters", Fault::too_large);
  }
  weft::Trainer trainer(*training.model, *training.data, o.training(*training.model));
  if (limits.bytes > 0) {
    const std::int64_t bytes = untrained_bytes(o, training, trainer);
    if (bytes > limits.bytes) return without_score("too large: " + describe_bytes(bytes), Fault::too_large);
  }
  weft::RunFolder folder(o.out);
  folder.begin(describe_run(parsed.command, o, training, trainer));
  std::optional<ProgressDisplay> display;
  if (is_terminal()) display.emplace();
  bool cut_off = false;
  weft::RunOptions run;
  run.open = &folder;
  run.eval_every = *o.eval_every;
  run.patience = o.patience;
  run.best_by = training.best_by.name;
  run.license = o.license;
  run.about = o.about;
  run.stop = [] { return stop_signal() != 0; };
  run.progress = [&](const weft::Progress& progress) {
    if (display) display->show(progress);
    cut_off = limits.go_on && !limits.go_on(progress);
    return !cut_off;
  };
  if (trainer.run(run).stopped)
    return cut_off ? without_score("ended early, because the search would exceed --time", Fault::too_slow)
                   : without_score("stopped");
  if (display) display->clear();
  return limits.bytes > 0 ? quantized(o, training, limits) : in_full(o, training, trainer);
}

weft::Evaluation test_trial(const std::vector<std::string>& options, const std::string& checkpoint) {
  const Parsed parsed(options);
  const Training training = load_training(parsed.options);
  return weft::evaluate(*weft::load_checkpoint(checkpoint, weft::Purpose::inference).model, *training.test);
}
