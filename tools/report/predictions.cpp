#include "report/predictions.h"

#include <weft/confusion.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/trainer.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "train/series_data.h"

namespace report {
namespace {

using weft::Batch;
using weft::Tensor;
using Visit = std::function<void(const Tensor& output, const Batch& batch)>;

// Passes the outputs of the model to a function.
class Visitor : public weft::Meter {
 public:
  explicit Visitor(const Visit& visit) : visit_(visit) {}
  void add(const Tensor& output, const Batch& batch) override { visit_(output, batch); }
  std::vector<weft::Metric> metrics() const override { return {}; }

 private:
  const Visit& visit_;
};

// Evenly spaced validation batches of other data.
class VisitedData : public weft::Data {
 public:
  VisitedData(const weft::Data& data, std::int64_t batches, const Visit& visit)
      : data_(data), batches_(batches), visit_(visit) {}
  weft::Task task() const noexcept override { return data_.task(); }
  const std::shared_ptr<const weft::Tokenizer>& tokenizer() const noexcept override { return data_.tokenizer(); }
  std::int64_t length() const noexcept override { return data_.length(); }
  std::int64_t batch() const noexcept override { return data_.batch(); }
  Batch training(std::int64_t k, const weft::Random& random) const override { return data_.training(k, random); }
  std::int64_t validation_batches() const noexcept override { return batches_; }
  Batch validation(std::int64_t k) const override {
    return data_.validation(k * data_.validation_batches() / batches_);
  }
  Tensor loss(const Tensor& output, const Batch& batch) const override { return data_.loss(output, batch); }
  std::unique_ptr<weft::Meter> meter() const override { return std::make_unique<Visitor>(visit_); }
  std::string fingerprint() const override { return data_.fingerprint(); }

 private:
  const weft::Data& data_;
  std::int64_t batches_;
  const Visit& visit_;
};

// Calls `visit` with the model's output for evenly spaced batches, in order. Together these have about `most` rows.
void predict(const weft::Model& model, const weft::Data& data, std::int64_t most, const Visit& visit) {
  const std::int64_t batches = std::min(data.validation_batches(), (most + data.batch() - 1) / data.batch());
  (void)weft::evaluate(model, VisitedData(data, batches, visit));
}

std::vector<double> finite_numbers(const Tensor& x) {
  std::vector<double> values = weft::raw::convert(x, weft::DType::f64).to_vector<double>();
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    throw weft::Error("some of the model's outputs are not finite");
  return values;
}

Predictions numbers_of(const weft::Checkpoint& checkpoint, const Validation& validation, std::int64_t most) {
  Predictions all;
  all.outputs = checkpoint.info.labels.size();
  predict(*checkpoint.model, *validation.data, most, [&](const Tensor& output, const Batch& batch) {
    const auto predicted = finite_numbers(output), actual = finite_numbers(batch.target);
    all.predicted.insert(all.predicted.end(), predicted.begin(), predicted.end());
    all.actual.insert(all.actual.end(), actual.begin(), actual.end());
  });
  return all;
}

Predictions one_vs_rest(const std::vector<std::vector<double>>& probabilities,
                        const std::vector<std::int64_t>& labels) {
  Predictions all;
  for (std::size_t row = 0; row < probabilities.size(); ++row) {
    all.outputs = probabilities[row].size();
    for (std::size_t k = 0; k < all.outputs; ++k) {
      all.predicted.push_back(probabilities[row][k]);
      all.actual.push_back(labels[row] == static_cast<std::int64_t>(k));
    }
  }
  return all;
}

Json label_figures(const weft::Checkpoint& checkpoint, const Validation& validation, std::int64_t most) {
  Predictions rows = numbers_of(checkpoint, validation, most);
  for (double& x : rows.predicted) x = 1 / (1 + std::exp(-x));
  return Json::array({precision_recall(checkpoint.info.labels, rows)});
}

Json residual_figures(const weft::Checkpoint& checkpoint, const Validation& validation, std::int64_t most) {
  std::vector<PredictedTarget> targets;
  for (const std::string& name : checkpoint.info.labels) targets.push_back({name, {targets.size()}});
  return Json::array({residuals(targets, numbers_of(checkpoint, validation, most))});
}

// The data must have batches of one row, so that the outputs are in the order of the rows.
Json tag_figures(const weft::Checkpoint& checkpoint, const Validation& validation, std::int64_t most) {
  const std::vector<std::string>& tags = checkpoint.info.labels;
  std::vector<TaggedRow> rows;
  predict(*checkpoint.model, *validation.data, most, [&](const Tensor& output, const Batch& batch) {
    (void)finite_numbers(output);
    const auto predicted = weft::predicted_labels(weft::reshape(output, {output.size(1), output.size(2)}));
    const auto actual = batch.target.to_vector<std::int64_t>();
    TaggedRow row;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (actual[i] < 0) continue;
      row.actual.push_back(tags[static_cast<std::size_t>(actual[i])]);
      row.predicted.push_back(tags[static_cast<std::size_t>(predicted[i])]);
    }
    if (validation.rows.content() == weft::RowContent::texts && batch.tokens.defined()) {
      std::istringstream text(validation.rows.texts[rows.size()]);
      for (std::string word; row.words.size() < row.actual.size() && text >> word;) row.words.push_back(word);
    }
    rows.push_back(std::move(row));
  });
  return Json::array({spans(rows)});
}

// Returns, for each target, the last `shown` numbers of its column in row `row` of the batch. The list is empty for a
// target whose column is not among the frames.
std::vector<std::vector<double>> history_of(const std::vector<double>& frames, const weft::Shape& shape,
                                            std::int64_t row, std::int64_t shown,
                                            const weft::ForecastOptions& options) {
  std::vector<std::vector<double>> history;
  for (const std::string& target : options.targets) {
    history.emplace_back();
    const auto found = std::find(options.frames.begin(), options.frames.end(), target);
    if (found == options.frames.end()) continue;
    for (std::int64_t i = shape[1] - shown; i < shape[1]; ++i)
      history.back().push_back(
          frames[static_cast<std::size_t>((row * shape[1] + i) * shape[2] + (found - options.frames.begin()))]);
  }
  return history;
}

std::vector<double> row_of(const std::vector<double>& all, std::int64_t row, std::int64_t outputs) {
  return {all.begin() + row * outputs, all.begin() + (row + 1) * outputs};
}

Json forecast_figures(const weft::Checkpoint& checkpoint, const Validation& validation, std::int64_t most) {
  const weft::ForecastOptions options = forecast_options(checkpoint, validation.season, 1);
  const std::int64_t outputs = std::ssize(checkpoint.info.labels), horizon = options.horizon;
  Predictions all;
  all.outputs = checkpoint.info.labels.size();
  std::vector<ForecastWindow> windows;
  predict(*checkpoint.model, *validation.data, most, [&](const Tensor& output, const Batch& batch) {
    const auto predicted = finite_numbers(output), actual = finite_numbers(batch.target),
               frames = finite_numbers(batch.frames);
    const std::int64_t shown =
        std::min(batch.frames.size(1), std::max({std::int64_t{48}, 4 * horizon, options.season}));
    for (std::int64_t row = 0; row < output.size(0); ++row)
      windows.push_back({history_of(frames, batch.frames.shape(), row, shown, options), row_of(actual, row, outputs),
                         row_of(predicted, row, outputs)});
    all.predicted.insert(all.predicted.end(), predicted.begin(), predicted.end());
    all.actual.insert(all.actual.end(), actual.begin(), actual.end());
  });
  std::vector<PredictedTarget> targets;
  for (std::size_t k = 0; k < options.targets.size(); ++k) {
    targets.push_back({options.targets[k], {}});
    for (std::size_t step = 0; step < static_cast<std::size_t>(horizon); ++step)
      targets.back().outputs.push_back(k * static_cast<std::size_t>(horizon) + step);
  }
  return Json::array({forecasts(options.targets, horizon, options.season, windows), residuals(targets, all)});
}

Json retrieval_figures(const weft::Checkpoint& checkpoint, const Validation& validation, std::int64_t most) {
  weft::RetrievalMeter meter;
  predict(*checkpoint.model, *validation.data, most, [&](const Tensor& output, const Batch& batch) {
    (void)finite_numbers(output);
    meter.add(output, batch);
  });
  return Json::array({retrieval(meter.ranks())});
}

}  // namespace

Json prediction_figures(const weft::Checkpoint& checkpoint, const Validation& validation, const SampleOptions& options,
                        const std::vector<std::vector<double>>& probabilities) {
  const std::vector<std::string>& labels = checkpoint.info.labels;
  Json figures = Json::array();
  switch (checkpoint.model->task()) {
    case weft::Task::classifier:
      figures.push_back(precision_recall(labels, one_vs_rest(probabilities, validation.rows.labels)));
      if (validation.rows.content() == weft::RowContent::pictures)
        figures.push_back(picture_grid(labels, validation.rows, probabilities));
      break;
    case weft::Task::multilabel: figures = label_figures(checkpoint, validation, options.rows); break;
    case weft::Task::regression: figures = residual_figures(checkpoint, validation, options.rows); break;
    case weft::Task::tagging: figures = tag_figures(checkpoint, validation, options.rows); break;
    case weft::Task::forecast: figures = forecast_figures(checkpoint, validation, options.rows); break;
    case weft::Task::retrieval: figures = retrieval_figures(checkpoint, validation, options.rows); break;
    default: break;
  }
  for (Json& each : figures) {
    each["of"] = validation.of;
    each["task"] = weft::task_name(checkpoint.model->task());
  }
  return figures;
}

std::vector<std::size_t> evenly_spaced(std::size_t size, std::size_t count) {
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < std::min(size, count); ++k)
    chosen.push_back(size <= count || count == 1 ? k : k * (size - 1) / (count - 1));
  return chosen;
}

}  // namespace report
