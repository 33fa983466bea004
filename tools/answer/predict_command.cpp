#include <weft/context.h>
#include <weft/error.h>
#include <weft/predict.h>

#include <iostream>
#include <optional>

#include "answer/predictions.h"
#include "answer/text_rows.h"
#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "console/visible.h"
#include "options/checkpoint_option.h"
#include "options/data_options.h"
#include "train/long_rows.h"
#include "train/series_data.h"

namespace {

constexpr double usual_threshold = 0.5;

struct PredictCommand {
  CheckpointOption checkpoint;
  DataOptions data_options;
  std::string file = "-";
  std::optional<double> threshold;
  bool json = false;
};

using Json = nlohmann::ordered_json;

// For a regression or a multilabel model, returns one line. For a tagging model, returns a line for each word, and an
// empty line.
std::string as_text(const weft::Predictor& predictor, const std::string& text, const PredictCommand& o) {
  std::string out;
  switch (predictor.checkpoint().model->task()) {
    case weft::Task::regression:
      for (const double x : predictor.numbers(text)) out += (out.empty() ? "" : "\t") + ::as_text(x);
      return out + "\n";
    case weft::Task::multilabel: return as_fields(predictor.labels(text, o.threshold.value_or(usual_threshold))) + "\n";
    default:
      for (const auto& [word, tag] : predictor.tags(text)) out += word + "\t" + tag + "\n";
      return out + "\n";
  }
}

// Returns {"NAME": number, …} with a number for each output of a regression model, or {"labels": [{"label": …,
// "probability": …}, …]} for a multilabel model, or {"words": [{"word": …, "tag": …}, …]} for a tagging model.
std::string as_json_line(const weft::Predictor& predictor, const std::string& text, const PredictCommand& o) {
  Json line = Json::object();
  switch (predictor.checkpoint().model->task()) {
    case weft::Task::regression: {
      const std::vector<double> numbers = predictor.numbers(text);
      for (std::size_t i = 0; i < numbers.size(); ++i) line[predictor.outputs()[i]] = numbers[i];
      break;
    }
    case weft::Task::multilabel:
      line["labels"] = as_json(predictor.labels(text, o.threshold.value_or(usual_threshold)), "label");
      break;
    default:
      line["words"] = Json::array();
      for (const auto& [word, tag] : predictor.tags(text)) line["words"].push_back({{"word", word}, {"tag", tag}});
  }
  return as_line(line);
}

// Forecasts the values that follow the last row of a table.
int forecast(const PredictCommand& o, const weft::Checkpoint& checkpoint) {
  if (o.file == "-") throw UsageError("give the file with the series to continue");
  if (const char* given = o.data_options.given())
    throw UsageError(
        std::string(given) +
        " can't be used for a forecast, because the model's columns are found by their names in the training data");
  const weft::ForecastOptions options = forecast_options(checkpoint, 0, 1);
  const weft::Series series = weft::read_series(o.file, options.frames);
  const weft::NoGrad suspended;
  const weft::Tensor output =
      checkpoint.model->forward({{}, weft::last_frames(series, options.frames, options.length)});
  const std::vector<double> numbers = weft::raw::convert(output, weft::DType::f64).to_vector<double>();
  Json line = Json::object();
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string& name = checkpoint.info.labels[i];
    line[name] = numbers[i];
    text += visible(name) + "\t" + ::as_text(numbers[i]) + "\n";
  }
  if (!(std::cout << (o.json ? as_line(line) : text) << std::flush))
    throw weft::Error("can't write to standard output");
  return 0;
}

int predict(const PredictCommand& o) {
  weft::Checkpoint checkpoint = o.checkpoint.load();
  if (const weft::Task task = checkpoint.model->task(); o.threshold && task != weft::Task::multilabel)
    throw UsageError(std::string("--threshold applies only to the task multilabel, but the checkpoint has the task ") +
                     weft::task_name(task));
  if (checkpoint.model->task() == weft::Task::forecast) return forecast(o, checkpoint);
  const weft::Predictor predictor(std::move(checkpoint));
  const TextColumns columns = columns_of_run(run_of(o.checkpoint.path()));
  LongRows long_rows(predictor.checkpoint());
  std::string name;
  for_each_text(o.file, o.data_options, columns, predictor.checkpoint(),
                [&](const std::string& text, const TextPlace& place) {
                  std::string answer;
                  try {
                    answer = o.json ? as_json_line(predictor, text, o) : as_text(predictor, text, o);
                  } catch (const weft::Error& error) {
                    throw weft::Error(place.name() + ": " + error.what());
                  }
                  if (!(std::cout << answer << std::flush)) throw weft::Error("can't write to standard output");
                  long_rows.add_read({text}, predictor.truncated());
                  name = place.file;
                });
  if (const std::string note = long_rows.note(name); !note.empty()) std::cerr << note << std::endl;
  return 0;
}

}  // namespace

Command predict_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command =
      weft.add_subcommand("predict", "Predict numbers, multiple labels or tags for texts, or forecast a series");
  const auto o = std::make_shared<PredictCommand>();
  o->checkpoint.add_to(*command);
  CLI::Option* file =
      command
          ->add_option("file", o->file,
                       "Texts (one per line), or rows as for weft train --data (default: standard input)")
          ->type_name("FILE");
  add_number(*command, "--threshold", o->threshold, {0, 1},
             "Task multilabel: minimum probability of the labels that are printed", "0.5");
  command->add_flag("--json", o->json, "Print a JSON object for each text");
  o->checkpoint.add_precision_to(*command);
  o->checkpoint.add_copy_to(*command);
  add_threads(*command);
  o->data_options.add_to(*command, file);
  command->footer(
      "The output depends on the model's task (weft train --task). For regression, each text gets a line\n"
      "with its numbers, separated by tabs. For multilabel, each text gets a line with its labels and their\n"
      "probabilities, separated by tabs. For tagging, each word gets a line with the word, a tab and its\n"
      "tag, and an empty line follows each text. For forecast, the file is a table. Each output line has\n"
      "the form NAME+K, a tab and the value that is predicted for the column NAME, K rows after the table's\n"
      "last row.\n"
      "Examples:\n"
      "  weft predict prices texts.txt\n"
      "  weft predict weather table.csv\n"
      "  echo \"connection pool server\" | weft predict topics --threshold 0.3 --json");
  return {command, [o] { return predict(*o); }};
}
