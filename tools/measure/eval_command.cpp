#include <weft/checkpoint.h>
#include <weft/trainer.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "measure/measured_data.h"
#include "measure/scores.h"
#include "options/checkpoint_option.h"

namespace {

struct EvalCommand {
  CheckpointOption checkpoint;
  MeasuredData data;
  bool json = false;
};

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
  const weft::Checkpoint checkpoint = o.checkpoint.load();
  if (o.checkpoint.pad_to && weft::task_source(checkpoint.model->task()) != weft::Source::rows)
    throw UsageError("--pad-to applies only to --data, because the sequences of a plain text have no padding");
  const std::string run = run_of(o.checkpoint.path());
  const auto data = o.data.load(checkpoint, run);
  const weft::Evaluation evaluation = measure(*checkpoint.model, *data, o.checkpoint.path());
  if (const std::string note = o.data.note(run); !note.empty()) std::cerr << note << std::endl;
  if (o.json) {
    print_json(evaluation, checkpoint);
    return 0;
  }
  if (evaluation.confusion)
    std::cout << scores_as_text(*evaluation.confusion, names_of(checkpoint, *evaluation.confusion)) << "\n";
  std::cout << "predicted " << evaluation.predicted << "\n";
  print_evaluation(evaluation, o.data.kind(run));
  print_memory();
  return 0;
}

}  // namespace

Command eval_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("eval", "Measure a checkpoint's loss and the metrics of its task");
  const auto o = std::make_shared<EvalCommand>();
  o->checkpoint.add_to(*command);
  o->data.add_to(*command);
  command->add_flag("--json", o->json, "Print one JSON object, with the scores of each label and the confusion matrix");
  o->checkpoint.add_pad_to(*command);
  o->checkpoint.add_precision_to(*command);
  o->checkpoint.add_copy_to(*command);
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft eval book --text book.txt\n"
      "  weft eval news --data test.csv --json");
  return {command, [o] { return eval(*o); }};
}
