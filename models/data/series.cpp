#include "weft/series.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/hash.h"
#include "base/names.h"
#include "data/meters.h"
#include "data/targets.h"
#include "rows/row_file.h"
#include "rows/row_format.h"
#include "weft/detail/float_chars.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

std::vector<std::string> header_of(const Content& content, char delimiter) {
  std::vector<std::string> names;
  if (!delimited_rows(content, {delimiter, Quotes::csv})->next(names)) return {};
  for (std::string& name : names) name = trimmed(name);
  return names;
}

std::optional<std::size_t> index_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::size_t column_of(const std::vector<std::string>& names, const std::string& name, const std::string& where) {
  if (const auto found = index_of(names, name)) return *found;
  throw Error(where + ": expected a column \"" + name + "\"; the columns are " + join(names));
}

// Returns the delimiter that divides the first row into the most fields.
char delimiter_of(const Content& content) {
  char best = ',';
  for (const char each : {'\t', ';'})
    if (header_of(content, each).size() > header_of(content, best).size()) best = each;
  return best;
}

std::optional<float> number_of(const std::string& field) {
  const std::string text = trimmed(field);
  double value = 0;
  const char* begin = text.data() + (text[0] == '+');
  const auto [end, error] = number_from(begin, text.data() + text.size(), value);
  const auto number = static_cast<float>(value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

void read_rows(const Content& content, char delimiter, const std::vector<std::size_t>& columns, Series& series) {
  const auto rows = delimited_rows(content, {delimiter, Quotes::csv});
  std::vector<std::string> fields;
  (void)rows->next(fields);
  const std::size_t expected = fields.size();
  for (std::int64_t row = 2; rows->next(fields); ++row) {
    const std::string where = content.where + ": row " + std::to_string(row) + ": ";
    if (fields.size() != expected)
      throw Error(where + "expected " + std::to_string(expected) + " columns, got " + std::to_string(fields.size()));
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const auto number = number_of(fields[columns[k]]);
      if (!number)
        throw Error(where + "column \"" + series.names[k] + "\": expected a number, got \"" +
                    fields[columns[k]].substr(0, 60) + "\"");
      series.columns[k].push_back(*number);
    }
  }
}

// The columns of the frames and of the targets, as indices.
struct Places {
  std::vector<std::size_t> frames, targets;
};

Places places_of(const Series& series, const ForecastOptions& options) {
  Places places;
  for (const std::string& name : options.frames) places.frames.push_back(column_of(series.names, name, "[forecast]"));
  for (const std::string& name : options.targets) places.targets.push_back(column_of(series.names, name, "[forecast]"));
  return places;
}

void check(const ForecastOptions& options) {
  if (options.frames.empty() || options.targets.empty())
    throw Error("[forecast] expected at least one column to read and one to predict");
  if (options.length < 1 || options.horizon < 1 || options.season < 0)
    throw Error("[forecast] expected a length and a horizon of at least 1 and a season of at least 0, got " +
                std::to_string(options.length) + ", " + std::to_string(options.horizon) + " and " +
                std::to_string(options.season));
  if (options.season > options.length)
    throw Error("[forecast] expected a season of at most the " + std::to_string(options.length) +
                " rows that the model reads, got " + std::to_string(options.season));
}

// Returns the rows from `first` to `end` - 1 of some columns: (end - first, columns).
Tensor block(const Series& series, const std::vector<std::size_t>& columns, std::int64_t first, std::int64_t end) {
  std::vector<float> values;
  for (std::int64_t row = first; row < end; ++row)
    for (const std::size_t column : columns) values.push_back(series.columns[column][static_cast<std::size_t>(row)]);
  return Tensor::from(values, {end - first, std::ssize(columns)});
}

// Returns the windows whose targets are in the rows from `begin` to `end` - 1.
RowSet windows(const std::shared_ptr<const Series>& series, const Places& places, const ForecastOptions& options,
               std::int64_t begin, std::int64_t end) {
  const std::int64_t n = options.length, h = options.horizon, first = std::max<std::int64_t>(begin - n, 0);
  return {std::max<std::int64_t>(end - h - n - first + 1, 0), [=](std::int64_t k) {
            const std::int64_t at = first + k + n;  // the row of the first target
            // The values are in the order of the outputs: "a+1", "a+2", "b+1", …
            std::vector<float> target;
            for (const std::size_t column : places.targets)
              for (std::int64_t step = 0; step < h; ++step)
                target.push_back(series->columns[column][static_cast<std::size_t>(at + step)]);
            return Row{{}, block(*series, places.frames, at - n, at), Tensor::from(target, {std::ssize(target)})};
          }};
}

// If the targets are also columns of the frames, this meter also measures forecasts that need no model.
class ForecastMeter : public Meter {
 public:
  ForecastMeter(std::int64_t outputs, std::int64_t horizon, std::int64_t season, std::vector<std::int64_t> in_frames)
      : model_(regression_meter(outputs)), horizon_(horizon), season_(season), in_frames_(std::move(in_frames)) {}

  void add(const Tensor& output, const Batch& batch) override {
    model_->add(output, batch);
    const std::int64_t n = batch.frames.size(1), c = batch.frames.size(2), outputs = batch.target.size(1);
    const auto frames = batch.frames.to_vector<float>(), target = batch.target.to_vector<float>();
    for (std::int64_t row = 0; row < batch.target.size(0) && !in_frames_.empty(); ++row)
      for (std::int64_t k = 0; k < outputs; ++k) {
        const std::int64_t column = in_frames_[static_cast<std::size_t>(k / horizon_)], step = k % horizon_;
        const auto at = [&](std::int64_t place) {
          return frames[static_cast<std::size_t>((row * n + place) * c + column)];
        };
        const double wanted = target[static_cast<std::size_t>(row * outputs + k)];
        last_ += std::abs(wanted - at(n - 1));
        if (season_ > 0) seasonal_ += std::abs(wanted - at(n - season_ + step % season_));
        ++count_;
      }
  }

  std::vector<Metric> metrics() const override {
    std::vector<Metric> all = model_->metrics();
    const double count = count_ > 0 ? count_ : 1;
    if (!in_frames_.empty()) all.push_back({"MAE of the last value", last_ / count, true, false});
    if (!in_frames_.empty() && season_ > 0) all.push_back({"MAE of a season before", seasonal_ / count, true, false});
    return all;
  }

 private:
  std::unique_ptr<Meter> model_;
  std::int64_t horizon_, season_;
  std::vector<std::int64_t> in_frames_;  // each target's column in the frames, or empty
  double last_ = 0, seasonal_ = 0, count_ = 0;
};

class ForecastObjective : public Objective {
 public:
  ForecastObjective(const std::vector<std::string>& outputs, const ForecastOptions& options)
      : usual_(make_objective(Task::forecast, outputs, {{}, 0, options.huber_delta})),
        outputs_(std::ssize(outputs)),
        options_(options) {
    for (const std::string& target : options.targets)
      if (const auto found = index_of(options.frames, target)) in_frames_.push_back(static_cast<std::int64_t>(*found));
    if (in_frames_.size() != options.targets.size()) in_frames_.clear();
  }
  Tensor loss(const Tensor& output, const Batch& batch) const override { return usual_->loss(output, batch); }
  std::unique_ptr<Meter> meter() const override {
    return std::make_unique<ForecastMeter>(outputs_, options_.horizon, options_.season, in_frames_);
  }
  Shape target_shape() const override { return usual_->target_shape(); }

 private:
  std::shared_ptr<const Objective> usual_;
  std::int64_t outputs_;
  ForecastOptions options_;
  std::vector<std::int64_t> in_frames_;
};

std::uint64_t hash_of(const Series& series) {
  BytesHash hash;
  for (std::size_t k = 0; k < series.columns.size(); ++k) {
    hash.add(series.names[k] + '\n');
    hash.add(series.columns[k].data(), series.columns[k].size() * sizeof(float));
  }
  return hash.value();
}

}  // namespace

Series read_series(const std::string& path, const std::vector<std::string>& columns) {
  return guard_memory("series", [&] {
    const FileBytes bytes = bytes_of(path);
    const Content content = text_of(bytes.view(), "\"" + path + "\"");
    const char delimiter = delimiter_of(content);
    const std::vector<std::string> names = header_of(content, delimiter);
    Series series;
    std::vector<std::size_t> places;
    for (const std::string& name : columns) {
      if (index_of(series.names, name)) continue;
      places.push_back(column_of(names, name, content.where));
      series.names.push_back(name);
    }
    series.columns.resize(series.names.size());
    series.format = delimiter == '\t' ? "TSV" : delimiter == ';' ? "semicolons" : "CSV";
    read_rows(content, delimiter, places, series);
    if (series.rows() == 0) throw Error(content.where + " has no rows");
    return series;
  });
}

RowDataOptions forecast_row_options(const Series& series, const ForecastOptions& options, std::int64_t training) {
  check(options);
  const Places places = places_of(series, options);
  if (training < 1 || training > series.rows())
    throw Error("[forecast] expected 1 to " + std::to_string(series.rows()) + " rows for training, got " +
                std::to_string(training));
  RowDataOptions rows;
  rows.task = Task::forecast;
  rows.batch = options.batch;
  rows.length = options.length;
  rows.input.channels = std::ssize(options.frames);
  rows.input.names = options.frames;
  set_normalization(rows.input, block(series, places.frames, 0, training));
  const OutputSpec of_targets = output_spec(block(series, places.targets, 0, training));
  for (std::size_t k = 0; k < options.targets.size(); ++k)
    for (std::int64_t step = 1; step <= options.horizon; ++step) {
      rows.outputs.push_back(options.targets[k] + "+" + std::to_string(step));
      rows.output.mean.push_back(of_targets.mean[k]);
      rows.output.deviation.push_back(of_targets.deviation[k]);
    }
  return rows;
}

std::unique_ptr<RowData> forecast_data(const Series& series, const ForecastOptions& options, const TextSplit& split,
                                       RowDataOptions rows) {
  return guard_memory("forecast", [&] {
    check(options);
    const Places places = places_of(series, options);
    const auto shared = std::make_shared<const Series>(series);
    const std::int64_t count = series.rows(), trained = count * split.training / 100,
                       measured = split.rest() == 0 ? count : count * (split.training + split.validation) / 100;
    RowSet training = windows(shared, places, options, 0, trained);
    RowSet validation = windows(shared, places, options, trained, measured);
    if (validation.size < 1 || (split.training > 0 && training.size < 1))
      throw Error("[forecast] " + std::to_string(count) + " rows are too few for windows of " +
                  std::to_string(options.length) + " + " + std::to_string(options.horizon) + " rows, with " +
                  std::to_string(split.training) + " % for training and " + std::to_string(split.validation) +
                  " % for validation");
    rows.objective = std::make_shared<ForecastObjective>(rows.outputs, options);
    rows.name = "forecast, split " + std::to_string(split.training) + "/" + std::to_string(split.validation) +
                ", hash " + std::to_string(hash_of(series)) + describe({Balance::none, 0, options.huber_delta});
    return std::make_unique<RowData>(std::move(training), std::move(validation), std::move(rows));
  });
}

Tensor last_frames(const Series& series, const std::vector<std::string>& frames, std::int64_t length) {
  std::vector<std::size_t> columns;
  for (const std::string& name : frames) columns.push_back(column_of(series.names, name, "[forecast]"));
  const std::int64_t rows = series.rows();
  if (rows < length)
    throw Error("[forecast] expected at least " + std::to_string(length) + " rows, got " + std::to_string(rows));
  const Tensor window = block(series, columns, rows - length, rows);
  return window.view({1, length, std::ssize(columns)}, {window.numel(), std::ssize(columns), 1}, 0);
}

}  // namespace weft
