#include <weft/encoded_text.h>
#include <weft/error.h>
#include <weft/run_folder.h>
#include <weft/task_data.h>

#include <filesystem>

#include "options/model_options.h"
#include "report/samples.h"
#include "train/divided_rows.h"
#include "train/run_settings.h"
#include "train/series_data.h"
#include "train/train_options.h"

namespace report {
namespace {

using weft::Error;

// Sets the options of weft train to those that a run.json describes.
void read_options(TrainOptions& options, const nlohmann::json& run, const std::string& path) {
  CLI::App command;
  options.add_to(command);
  apply_run(command, run.dump(), path);
}

// Throws an Error if the data no longer exist or can't be read repeatedly.
void check_there(const std::string& path) {
  if (!std::filesystem::exists(path)) throw Error("the data file \"" + path + "\" no longer exists");
  if (!std::filesystem::is_regular_file(path) && !std::filesystem::is_directory(path))
    throw Error("\"" + path + "\" can't be read again: it is neither a regular file nor a folder");
}

// Returns at most `most` evenly spaced rows.
weft::LabeledTexts spread(const weft::LabeledTexts& all, std::int64_t most) {
  const auto count = static_cast<std::int64_t>(all.texts.size());
  if (count <= most) return all;
  weft::LabeledTexts some = all.without_rows();
  for (std::int64_t i = 0; i < most; ++i) {
    const auto row = static_cast<std::size_t>(i * count / most);
    some.texts.push_back(all.texts[row]);
    some.labels.push_back(all.labels[row]);
  }
  return some;
}

bool has_changed(const weft::Data& whole, const nlohmann::json& run) {
  const auto found = run.find("found");
  if (found == run.end() || !found->is_object() || !found->contains("data")) return false;
  return (*found)["data"] != whole.fingerprint();
}

Validation load_rows(TrainOptions options, const nlohmann::json& run, const weft::Checkpoint& checkpoint,
                     std::int64_t most) {
  check_there(options.data);
  if (options.validation != every_tenth_row && !is_share(options.validation)) check_there(options.validation);
  options.test.clear();  // the report doesn't show the test set
  const weft::Task task = checkpoint.model->task();
  if (task == weft::Task::forecast) {
    Validation validation;
    const weft::ForecastOptions of_model = forecast_options(checkpoint, options.season, 32);
    validation.data = measured_series(checkpoint, read_series(options), of_model, weft::text_split(options.split));
    validation.changed = has_changed(*validation.data, run);
    validation.season = options.season;
    const std::int64_t last = validation.data->validation_batches() - 1;
    validation.of = last * validation.data->batch() + validation.data->validation(last).predicted;
    return validation;
  }
  const DividedRows rows = divided_rows(options, task, checkpoint.info.labels);
  const auto data_of = [&](const weft::LabeledTexts& learned, const weft::LabeledTexts& measured,
                           const weft::LearningOptions& learning) {
    weft::TaskDataOptions how;
    how.length = sequence_length(checkpoint);
    how.batch = task == weft::Task::tagging ? 1 : 32;
    how.padding = padding_of(checkpoint);
    how.word_dropout = options.word_dropout;
    how.augmentation = {options.flips, options.shift.value_or(0)};
    how.learning = learning;
    return weft::task_data(learned, measured, row_task(checkpoint), how);
  };
  Validation validation;
  validation.changed = has_changed(*data_of(rows.training, rows.validation, options.learning()), run);
  validation.of = static_cast<std::int64_t>(rows.validation.texts.size());
  validation.rows = spread(rows.validation, most);
  validation.data = data_of({}, validation.rows, {});
  return validation;
}

Validation load_text(const TrainOptions& options, const nlohmann::json& run, const weft::Checkpoint& checkpoint) {
  check_there(options.text);
  Validation validation;
  validation.data = std::make_unique<weft::TextData>(weft::EncodedText::of_file(options.text, *checkpoint.tokenizer),
                                                     checkpoint.tokenizer, checkpoint.model->task(),
                                                     sequence_length(checkpoint), 4, weft::text_split(options.split));
  validation.changed = has_changed(*validation.data, run);
  return validation;
}

}  // namespace

std::int64_t sequence_length(const weft::Checkpoint& checkpoint) {
  if (checkpoint.info.pad_to > 0) return checkpoint.info.pad_to;
  return checkpoint.info.length > 0 ? checkpoint.info.length : usual_length(*checkpoint.model);
}

Validation load_validation(const nlohmann::json& run, const std::string& folder, const weft::Checkpoint& checkpoint,
                           std::int64_t rows) {
  TrainOptions options;
  read_options(options, run, weft::run_path(folder));
  const bool labeled = weft::task_source(checkpoint.model->task()) == weft::Source::rows;
  if ((labeled ? options.data : options.text).empty()) throw Error("run.json names no data");
  return labeled ? load_rows(options, run, checkpoint, rows) : load_text(options, run, checkpoint);
}

}  // namespace report
