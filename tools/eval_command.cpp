#include <weft/checkpoint.h>
#include <weft/classifier_data.h>
#include <weft/error.h>
#include <weft/trainer.h>

#include <iostream>

#include "command.h"
#include "data_options.h"
#include "model_options.h"
#include "report.h"

namespace {

struct EvalCommand {
  std::string checkpoint, text, data;
  DataOptions form;
  std::int64_t seq_len = 0, batch = 32;
  bool all = false;
};

// A checkpoint that a program saved needn't say what it was trained on.
std::int64_t length_of(const EvalCommand& o, const weft::Checkpoint& checkpoint) {
  if (o.seq_len > 0) return o.seq_len;
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
    return std::make_unique<weft::ClassifierData>(weft::LabelledTexts{}, texts, checkpoint.vocabulary, length, o.batch,
                                                  padding);
  }
  if (o.text.empty()) throw weft::Error(what + ": give --text");
  if (o.form.given()) throw weft::Error("--format, --columns, --header and --skip-bad-rows are of --data");
  return std::make_unique<weft::TextData>(weft::read_text(o.text), checkpoint.vocabulary, model.task(), length, o.batch,
                                          o.all ? weft::Part::all : weft::Part::tenth);
}

int eval(const EvalCommand& o) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint);
  const auto data = load_data(o, checkpoint);
  const weft::Evaluation evaluation = weft::evaluate(*checkpoint.model, *data);
  std::cout << "predicted " << evaluation.predicted << "\n";
  print_evaluation(evaluation, "test");
  print_memory();
  return 0;
}

}  // namespace

Command eval_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("eval", "Measure a checkpoint's loss, and what else its task measures");
  const auto o = std::make_shared<EvalCommand>();
  command->add_option("--checkpoint", o->checkpoint, "Folder that weft train wrote")->required();
  auto* text = command->add_option("--text", o->text, "UTF-8 text, of which the last tenth is measured");
  command->add_option("--data,--csv", o->data, "Labelled texts, a file or a folder, all measured")->excludes(text);
  o->form.add_to(*command);
  command->add_flag("--all", o->all, "Measure the whole text")->needs(text);
  command->add_option("--seq-len", o->seq_len, "Length of the sequences (default: that of training, or the config's)")
      ->check(CLI::PositiveNumber);
  command->add_option("--batch", o->batch, "Sequences at a time")->capture_default_str()->check(CLI::PositiveNumber);
  add_threads_option(*command);
  command->footer(
      "Examples:\n  weft eval --checkpoint book --text book.txt\n"
      "  weft eval --checkpoint news --data test.csv");
  return {command, [o] { return eval(*o); }};
}
