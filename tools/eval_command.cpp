#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/trainer.h>

#include <iostream>

#include "command.h"
#include "model_options.h"
#include "report.h"

namespace {

struct EvalCommand {
  std::string checkpoint, text, csv;
  std::int64_t seq_len = 0, batch = 32;
  bool all = false;
};

// A checkpoint that a program saved needn't say what it was trained on.
std::int64_t length_of(const EvalCommand& o, const weft::Checkpoint& checkpoint) {
  if (o.seq_len > 0) return o.seq_len;
  if (checkpoint.info.length > 0) return checkpoint.info.length;
  return usual_length(*checkpoint.model);
}

std::unique_ptr<weft::Data> load_data(const EvalCommand& o, const weft::Checkpoint& checkpoint) {
  const weft::Model& model = *checkpoint.model;
  const std::int64_t length = length_of(o, checkpoint);
  const std::string what = std::string("the checkpoint is a ") + weft::task_name(model.task());
  if (weft::task_source(model.task()) == weft::Source::rows) {
    if (o.csv.empty()) throw weft::Error(what + ": give --csv");
    const weft::LabelledTexts texts = weft::read_csv(o.csv, model.outputs());
    return std::make_unique<weft::ClassifierData>(weft::LabelledTexts{}, texts, checkpoint.tokenizer, length, o.batch);
  }
  if (o.text.empty()) throw weft::Error(what + ": give --text");
  return std::make_unique<weft::TextData>(weft::EncodedText::of_file(o.text, *checkpoint.tokenizer),
                                          checkpoint.tokenizer, model.task(), length, o.batch,
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
  command->add_option("--csv", o->csv, "Rows \"class\",\"title\",\"description\", all measured")->excludes(text);
  command->add_flag("--all", o->all, "Measure the whole text")->needs(text);
  command->add_option("--seq-len", o->seq_len, "Length of the sequences (default: that of training, or the config's)")
      ->check(CLI::PositiveNumber);
  command->add_option("--batch", o->batch, "Sequences at a time")->capture_default_str()->check(CLI::PositiveNumber);
  add_threads_option(*command);
  command->footer("Example:\n  weft eval --checkpoint book --text book.txt");
  return {command, [o] { return eval(*o); }};
}
