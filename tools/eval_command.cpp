#include <weft/checkpoint.h>
#include <weft/classifier_data.h>
#include <weft/error.h>
#include <weft/trainer.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "checkpoint_option.h"
#include "command.h"
#include "data_options.h"
#include "model_options.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "scores.h"

namespace {

struct EvalCommand {
  CheckpointOption checkpoint;
  std::string text, data;
  DataOptions form;
  std::optional<std::int64_t> seq_len;
  std::int64_t batch = 32;
  bool all = false, json = false;
  weft::Precision precision = weft::Precision::f32;
};

// A checkpoint that a program saved needn't say what it was trained on.
std::int64_t length_of(const EvalCommand& o, const weft::Checkpoint& checkpoint) {
  if (o.seq_len) return *o.seq_len;
  if (checkpoint.info.pad_to > 0) return checkpoint.info.pad_to;
  if (checkpoint.info.length > 0) return checkpoint.info.length;
  return usual_length(*checkpoint.model);
}

std::unique_ptr<weft::Data> load_data(const EvalCommand& o, const weft::Checkpoint& checkpoint) {
  const weft::Model& model = *checkpoint.model;
  const std::int64_t length = length_of(o, checkpoint);
  const std::string what = std::string("the checkpoint is a ") + weft::task_name(model.task());
  if (weft::task_source(model.task()) == weft::Source::rows) {
    if (o.data.empty()) throw weft::Error(what + ": give --data");
    const weft::LabelledTexts texts = weft::read_labelled(o.data, o.form.labelled(checkpoint.info.labels));
    std::cerr << describe(o.data, texts) << std::endl;
    const auto padding = checkpoint.info.pad_to > 0 ? weft::Padding::full : weft::Padding::exact;
    return std::make_unique<weft::ClassifierData>(weft::LabelledTexts{}, texts, checkpoint.tokenizer, length, o.batch,
                                                  padding);
  }
  if (o.text.empty()) throw weft::Error(what + ": give --text");
  return std::make_unique<weft::TextData>(weft::EncodedText::of_file(o.text, *checkpoint.tokenizer),
                                          checkpoint.tokenizer, model.task(), length, o.batch,
                                          o.all ? weft::Part::all : weft::Part::tenth);
}

std::vector<std::string> names_of(const weft::Checkpoint& checkpoint, const weft::Confusion& confusion) {
  std::vector<std::string> names = checkpoint.info.labels;
  for (auto i = std::ssize(names); i < confusion.labels(); ++i) names.push_back(std::to_string(i + 1));
  return names;
}

void print_json(const weft::Evaluation& evaluation, const weft::Checkpoint& checkpoint) {
  nlohmann::ordered_json all{{"task", weft::task_name(checkpoint.model->task())},
                             {"step", checkpoint.info.step},
                             {"predicted", evaluation.predicted},
                             {"loss", evaluation.loss}};
  if (const auto bits = evaluation.bits_per_byte()) {
    all["perplexity"] = evaluation.perplexity();
    all["bits_per_byte"] = *bits;
  }
  for (const weft::Metric& metric : evaluation.metrics) all[metric.name] = metric.value;
  if (evaluation.confusion)
    all.update(scores_as_json(*evaluation.confusion, names_of(checkpoint, *evaluation.confusion)));
  std::cout << all.dump() << "\n";
}

int eval(const EvalCommand& o) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint.path(), weft::Purpose::inference);
  checkpoint.model->set_precision(o.precision);
  const auto data = load_data(o, checkpoint);
  BatchCount count(data->validation_batches());
  const auto counted = [&] {
    count.next();
    return false;
  };
  const weft::Evaluation evaluation = *weft::evaluate(*checkpoint.model, *data, counted);
  count.clear();
  if (!std::isfinite(evaluation.loss))
    throw weft::Error("the loss of \"" + o.checkpoint.path() + "\" on these data is " +
                      std::to_string(evaluation.loss) + ": some of the model's outputs are not finite");
  if (o.json) {
    print_json(evaluation, checkpoint);
    return 0;
  }
  if (evaluation.confusion)
    std::cout << scores_as_text(*evaluation.confusion, names_of(checkpoint, *evaluation.confusion)) << "\n";
  std::cout << "predicted " << evaluation.predicted << "\n";
  print_evaluation(evaluation, "test");
  print_memory();
  return 0;
}

}  // namespace

Command eval_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("eval", "Measure a checkpoint's loss, and what else its task measures");
  const auto o = std::make_shared<EvalCommand>();
  o->checkpoint.add_to(*command);
  auto* text = add_text(*command, "--text", "FILE", o->text, "UTF-8 text, of which the last tenth is measured");
  auto* data =
      add_text(*command, "--data,--csv", "FILE|DIR", o->data, "Labelled texts, a file or a folder, all measured");
  data->excludes(text);
  o->form.add_to(*command, data);
  command->add_flag("--all", o->all, "Measure the whole text")->needs(text);
  add_number(*command, "--seq-len", o->seq_len, {1}, "Length of the sequences", "that of training, or the config's");
  add_number(*command, "--batch", o->batch, {1}, "Sequences at a time");
  command->add_flag("--json", o->json, "One JSON object, with the scores of each label and the confusion matrix");
  add_precision(*command, o->precision);
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft eval book --text book.txt\n"
      "  weft eval news --data test.csv --json");
  return {command, [o] { return eval(*o); }};
}
