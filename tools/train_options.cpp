#include "train_options.h"

#include <cctype>
#include <cstdio>
#include <map>

#include "command.h"
#include "report.h"

namespace {

void add_data_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Data";
  auto* text = command.add_option("--text", o.text, "UTF-8 text: a language model by characters")
                   ->group(group)
                   ->type_name("FILE");
  auto* csv = command.add_option("--csv", o.csv, "Rows \"class\",\"title\",\"description\": a classifier")
                  ->group(group)
                  ->type_name("FILE");
  command.add_option("--csv-test", o.csv_test, "Rows to test on (default: every tenth row of --csv is held out)")
      ->group(group)
      ->type_name("FILE")
      ->needs(csv);
  text->excludes(csv);
  command.add_option("--classes", o.classes, "Number of classes (default: the highest in --csv)")
      ->group(group)
      ->needs(csv)
      ->check(CLI::PositiveNumber);
  command.add_option("--vocabulary-size", o.vocabulary_size, "Most words that a classifier knows")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--min-count", o.min_count, "Fewest times that a word must occur")
      ->group(group)
      ->capture_default_str();
  command.add_option("--from", o.from, "Begin with a checkpoint's parameters, sizes and vocabulary")
      ->group(group)
      ->type_name("DIR");
}

std::string capital(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// "adamw 0.9"
std::string with_value(const std::string& name, double value) {
  char text[32];
  std::snprintf(text, sizeof text, " %g", value);
  return name + text;
}

// The optimizers' own options, each once: several may have one of that name.
void add_optimizer_options(CLI::App& command, weft::OptimizerOptions& o) {
  const std::string group = "Optimizer";
  std::vector<std::string> names, decays, own;
  std::map<std::string, std::vector<std::string>> usual;
  std::map<std::string, std::string> meaning;
  for (const weft::OptimizerInfo& optimizer : weft::optimizers()) {
    names.push_back(optimizer.name);
    decays.push_back(with_value(optimizer.name, optimizer.weight_decay));
    for (const auto& option : optimizer.own) {
      if (meaning.emplace(option.name, option.meaning).second) own.push_back(option.name);
      usual[option.name].push_back(with_value(optimizer.name, option.usual));
    }
  }
  command.add_option("--optimizer", o.name, "What updates the parameters: " + list(names))
      ->group(group)
      ->capture_default_str();
  command.add_option("--weight-decay", o.weight_decay, "Of matrices (default: " + list(decays) + ")")->group(group);
  command.add_option("--clip", o.clip, "Highest norm of the gradient, 0 for any")->group(group)->capture_default_str();
  for (const std::string& name : own)
    command
        .add_option_function<double>(
            "--" + name, [&o, name](double value) { o.own[name] = value; },
            capital(meaning[name]) + " (default: " + list(usual[name]) + ")")
        ->group(group);
}

void add_training_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Training";
  command.add_option("--steps", o.steps, "Steps (default: 2000 of text, 1000 of rows)")
      ->group(group)
      ->check(CLI::PositiveNumber);
  command.add_option("--batch", o.batch, "Sequences in a batch (default: 12 of text, 32 of rows)")
      ->group(group)
      ->check(CLI::PositiveNumber);
  command.add_option("--micro-batches", o.micro_batches, "Batches that make a step together")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--schedule", o.schedule, "Of the learning rate: " + list(weft::schedules()))
      ->group(group)
      ->capture_default_str();
  command.add_option("--lr", o.lr, "Peak learning rate (default: 2e-3 for text, 1e-3 for rows; factor 1 for noam)")
      ->group(group);
  command.add_option("--lr-floor", o.lr_floor, "Cosine, linear: the last rate as a part of the peak")
      ->group(group)
      ->capture_default_str();
  command.add_option("--warmup", o.warmup, "Steps until the peak (default 100; noam 2000)")
      ->group(group)
      ->check(CLI::NonNegativeNumber);
  command.add_option("--label-smoothing", o.label_smoothing, "Part of the loss that is spread over all classes")
      ->group(group)
      ->capture_default_str();
  command.add_option("--seed", o.seed, "Seed of parameters, batches and dropout")->group(group)->capture_default_str();
  command.add_option("--eval-every,--save-every", o.eval_every, "Steps from one validation and checkpoint to the next")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--patience", o.patience, "End after so many validations without a new lowest loss; 0: never")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
}

void add_run_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Run";
  command.add_option("--out", o.out, "Folder of the run: checkpoints in best and last, run.json, metrics.jsonl")
      ->group(group)
      ->type_name("DIR");
  command
      .add_option("--resume", o.resume,
                  "Go on with the run in DIR, to the same bits as one that never stopped; of the other options with\n"
                  "--steps, --eval-every, --patience, --threads, --log, --keep-going alone, and where its data are now")
      ->group(group)
      ->type_name("DIR")
      ->expected(0, 1);
  command.add_flag("--overwrite", o.overwrite, "Replace the run in --out, when this one saves its first checkpoint")
      ->group(group);
  command.add_flag("--keep-going", o.keep_going, "Go on when a save fails, on a full disk, say, and try again later")
      ->group(group);
  command.add_option("--log", o.log, "File for the losses: step, loss, validation loss; --resume goes on in it")
      ->group(group)
      ->type_name("FILE");
}

// What neither changes the run that --resume goes on with nor is another one.
bool goes_with_resume(const std::string& name) {
  for (const char* each : {"--resume", "--steps", "--eval-every", "--patience", "--threads", "--log", "--keep-going",
                           "--text", "--csv", "--csv-test", "--help"})
    if (name == each) return true;
  return false;
}

// CLI::ParseError for options that don't go together.
void check_options(const CLI::App& command, const TrainOptions& o) {
  if (command.count("--resume") == 0) {
    if (command.count("--out") == 0) throw CLI::RequiredError("--out");
    return;
  }
  if (command.count("--out") > 0 || o.resume.empty() || o.resume == "true")  // what CLI11 gives an option without value
    throw CLI::ValidationError("--resume takes the run's folder and needs no --out: weft train --resume " +
                               (o.out.empty() ? "DIR" : o.out));
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !goes_with_resume(option->get_name()))
      throw CLI::ValidationError("--resume goes on with the run's own settings: leave out " + option->get_name() +
                                 ", or begin another run with its parameters by --from " + o.resume);
}

}  // namespace

void TrainOptions::add_to(CLI::App& command) {
  add_data_options(command, *this);
  model.add_to(command);
  command.get_option("--from")->excludes(command.get_option("--preset"));
  add_training_options(command, *this);
  add_optimizer_options(command, optimizer);
  add_run_options(command, *this);
  command.parse_complete_callback([&command, this] { check_options(command, *this); });
}

weft::TrainOptions TrainOptions::training(const weft::Model& made) const {
  weft::TrainOptions options;
  options.seed = seed;
  options.micro_batches = micro_batches;
  options.label_smoothing = label_smoothing;
  weft::Schedule& rate = options.schedule;
  rate.kind = weft::schedule_from_name(schedule);
  const bool noam = rate.kind == weft::ScheduleKind::noam, rows = !csv.empty();
  rate.peak = lr.value_or(noam ? 1 : rows ? 1e-3 : 2e-3);
  rate.steps = steps.value_or(rows ? 1000 : 2000);
  rate.warmup = warmup.value_or(noam ? 2000 : 100);
  rate.floor = lr_floor;
  rate.d_model = config_value(made.config(), "d_model", 1);
  options.optimizer = optimizer;
  return options;
}
