#include "train/series_data.h"

#include <weft/error.h>

#include <algorithm>

#include "console/command.h"
#include "options/model_options.h"

namespace {

// Splits a list of names that are separated by commas.
std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',') names.emplace_back();
    else names.back() += c;
  }
  for (const std::string& name : names)
    if (name.empty() || std::count(names.begin(), names.end(), name) > 1)
      throw UsageError("expected distinct names, separated by commas, got \"" + list + "\"");
  return names;
}

std::vector<std::string> both(std::vector<std::string> frames, const std::vector<std::string>& targets) {
  frames.insert(frames.end(), targets.begin(), targets.end());
  return frames;
}

}  // namespace

bool is_forecast(const TrainOptions& o) {
  if (o.frames.empty()) return false;
  if (o.target.empty()) throw UsageError("--frames needs --target, the columns to predict");
  if (!o.model.task.empty() && o.model.task != "forecast")
    throw UsageError("--frames applies only to the task forecast, not to " + o.model.task);
  const char* given = !o.test.empty()                   ? "--test"
                      : o.folds > 0                     ? "--folds"
                      : !o.tokenizer.tokenizer.empty()  ? "--tokenizer"
                      : !o.pad_to.empty()               ? "--pad-to"
                      : !o.data_options.columns.empty() ? "--columns"
                      : o.patch || o.shift || o.flips   ? "--patch, --shift or --flips"
                                                        : nullptr;
  if (given != nullptr) throw UsageError(std::string(given) + " can't be used with --frames");
  return true;
}

weft::ForecastOptions forecast_options(const TrainOptions& o, std::int64_t length) {
  weft::ForecastOptions options;
  options.frames = names_of(o.frames);
  options.targets = names_of(o.target);
  options.length = length;
  options.horizon = o.horizon;
  options.season = o.season;
  options.batch = o.batch.value_or(32);
  return options;
}

weft::Series read_series(const TrainOptions& o) {
  return weft::read_series(o.data, both(names_of(o.frames), names_of(o.target)));
}

std::int64_t training_rows(const TrainOptions& o, const weft::Series& series) {
  return series.rows() * weft::text_split(o.split).training / 100;
}

// The model's outputs have the names "NAME+1" … "NAME+horizon" for each target.
weft::ForecastOptions forecast_options(const weft::Checkpoint& checkpoint, std::int64_t season, std::int64_t batch) {
  weft::ForecastOptions options;
  options.frames = checkpoint.model->input().names;
  if (options.frames.empty()) throw weft::Error("the checkpoint doesn't name the columns that its model reads");
  for (const std::string& output : checkpoint.info.labels) {
    const std::string target = output.substr(0, output.rfind('+'));
    if (options.targets.empty() || options.targets.back() != target) options.targets.push_back(target);
  }
  options.horizon = std::ssize(checkpoint.info.labels) / std::ssize(options.targets);
  options.length = checkpoint.info.length > 0 ? checkpoint.info.length : usual_length(*checkpoint.model);
  options.season = season;
  options.batch = batch;
  return options;
}

std::unique_ptr<weft::RowData> measured_series(const weft::Checkpoint& checkpoint, const weft::Series& series,
                                               const weft::ForecastOptions& options, const weft::TextSplit& split) {
  weft::RowDataOptions rows;
  rows.task = weft::Task::forecast;
  rows.batch = options.batch;
  rows.length = options.length;
  rows.outputs = checkpoint.info.labels;
  rows.input = checkpoint.model->input();
  rows.output = checkpoint.model->output();
  return weft::forecast_data(series, options, split, std::move(rows));
}
