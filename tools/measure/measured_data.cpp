#include "measure/measured_data.h"

#include <weft/error.h>
#include <weft/task_data.h>

#include <cmath>
#include <iostream>

#include "console/command.h"
#include "console/options.h"
#include "console/progress.h"
#include "options/model_options.h"
#include "options/run_file.h"
#include "train/long_rows.h"
#include "train/series_data.h"

namespace {

// Returns the length of the sequences to measure. A checkpoint that another program saved may not record the length of
// its training sequences.
std::int64_t length_of(const MeasuredData& o, const weft::Checkpoint& checkpoint) {
  if (o.seq_len) return *o.seq_len;
  if (checkpoint.info.pad_to > 0) return checkpoint.info.pad_to;
  if (checkpoint.info.length > 0) return checkpoint.info.length;
  return usual_length(*checkpoint.model);
}

}  // namespace

void MeasuredData::add_to(CLI::App& command) {
  auto* of_text = add_text(
      command, "--text", "FILE", text,
      "UTF-8 text. The test set of the run's split is measured, or the validation set if the split has no test set. "
      "For a checkpoint without a run, the last tenth of the text is measured");
  auto* of_data = add_text(
      command, "--data,--csv", "FILE|DIR", data,
      "File or folder of labeled rows, as for weft train --data. All rows are measured, but for a forecast only "
      "the last tenth");
  of_data->excludes(of_text);
  data_options.add_to(command, of_data);
  command.add_flag("--all", all, "Measure the whole text")->needs(of_text);
  with_data_ = {add_number(command, "--seq-len", seq_len, {1}, "Length of the sequences",
                           "as in training, or else the seq_len of the config"),
                add_number(command, "--batch", batch, {1}, "Number of sequences in a batch")};
}

bool MeasuredData::given() const {
  if (!text.empty() || !data.empty()) return true;
  for (const CLI::Option* option : with_data_)
    if (option->count() > 0) throw UsageError(option->get_name() + " needs --text or --data");
  return false;
}

const char* MeasuredData::kind(const std::string& run) const {
  const std::string split = run_text(run, "data", "split");
  return !text.empty() && !all && !split.empty() && weft::text_split(split).rest() == 0 ? "validation" : "test";
}

// Returns the part of the text to measure, which follows the training set of the run. In earlier versions,
// run.json does not contain the split.
weft::TextSplit MeasuredData::text_part(const std::string& run) const {
  if (all) return {0, 100};
  const std::string name = run_text(run, "data", "split");
  const weft::TextSplit split = weft::text_split(name.empty() ? "90/10/0" : name);
  return split.rest() > 0 ? split.test() : split;
}

std::string MeasuredData::note(const std::string& run) const {
  if (text.empty() || all) return "";
  const char* of = run_text(run, "data", "split").empty() ? " set of --split 80/10/10" : " set of the run";
  return text + ": measured on the last " + std::to_string(text_part(run).validation) + " %, the " + kind(run) + of;
}

std::unique_ptr<weft::Data> MeasuredData::load(const weft::Checkpoint& checkpoint, const std::string& run) const {
  const weft::Model& model = *checkpoint.model;
  const std::int64_t length = length_of(*this, checkpoint);
  const std::string what = std::string("the checkpoint has the task ") + weft::task_name(model.task());
  if (weft::task_source(model.task()) == weft::Source::rows) {
    if (data.empty()) throw weft::Error(what + ": give --data");
    if (model.task() == weft::Task::forecast) {
      const auto options = forecast_options(checkpoint, run_setting(run, "data", "season", 0), batch);
      std::vector<std::string> columns = options.frames;
      columns.insert(columns.end(), options.targets.begin(), options.targets.end());
      std::cerr << data << ": measuring the last tenth of the rows" << std::endl;
      return measured_series(checkpoint, weft::read_series(data, columns), options, {90, 10});
    }
    weft::LabeledOptions options = data_options.labeled(model.task(), checkpoint.info.labels);
    options.literal_quotes_where_possible = run_flag(run, "data", "literal-quotes");
    if (const TextColumns columns = columns_of_run(run); !columns.second.empty()) set_text_columns(columns, options);
    check_second_columns(options, checkpoint, data);
    const weft::LabeledTexts texts = weft::read_labeled(data, options);
    std::cerr << describe(data, texts) << std::endl;
    check_content(texts.content(), checkpoint, data);
    check_picture_size(texts.picture, model.input().height, model.input().width, data);
    weft::TaskDataOptions how;
    how.length = length;
    how.batch = batch;
    how.padding = padding_of(checkpoint);
    const weft::RowTask task = row_task(checkpoint);
    if (const std::string note = long_rows_note(texts, task, length, data); !note.empty())
      std::cerr << note << std::endl;
    return weft::task_data({}, texts, task, how);
  }
  if (text.empty()) throw weft::Error(what + ": give --text");
  const weft::TextSplit part = text_part(run);
  return std::make_unique<weft::TextData>(weft::EncodedText::of_file(text, *checkpoint.tokenizer), checkpoint.tokenizer,
                                          model.task(), length, batch, part);
}

weft::Evaluation measure(const weft::Model& model, const weft::Data& data, const std::string& path) {
  Count count("batch", data.validation_batches());
  const auto counted = [&] {
    count.next();
    return false;
  };
  weft::Evaluation evaluation = *weft::evaluate(model, data, counted);
  count.clear();
  if (!std::isfinite(evaluation.loss))
    throw weft::Error("the loss of \"" + path + "\" on these data is " + std::to_string(evaluation.loss) +
                      ": some of the model's outputs are not finite");
  return evaluation;
}
