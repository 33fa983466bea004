#include "train/train_options.h"

#include <weft/error.h>
#include <weft/trainer.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "console/same_file.h"
#include "train/train_steps.h"

namespace {

const Range<double> of_share{.lowest = 0, .highest = 1, .above = true, .below = true};

// What the best checkpoint may be chosen by, and the metric that it is.
const std::pair<const char*, const char*> best_by_names[] = {
    {"loss", "loss"}, {"accuracy", "accuracy"}, {"f1", "macro F1"}};

// Of --folds: "5", all of them, or "2/5", the second one.
void set_folds(TrainOptions& o, const std::string& typed) {
  const std::size_t slash = typed.find('/');
  const Range<std::int64_t> range{.lowest = 2, .highest = 1000};
  o.folds = number_in(range, typed.substr(slash == std::string::npos ? 0 : slash + 1));
  o.fold.reset();
  if (slash != std::string::npos)
    o.fold = number_in(Range<std::int64_t>{.lowest = 1, .highest = o.folds}, typed.substr(0, slash)) - 1;
}

// Of --pad-to.
void check_length(const std::string& typed) try {
  (void)number_in(Range<std::int64_t>{2}, typed);
} catch (const weft::Error&) {
  throw weft::Error("expected a whole number in decimal, at least 2, or exact, got \"" + typed + "\"");
}

void add_data_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Data";
  auto* text = add_text(command, "--text", "FILE", o.text, "UTF-8 text: a language model")->group(group);
  const auto check_split = [](const std::string& typed) { (void)weft::text_split(typed); };
  add_text(
      command, "--split", "A/B/C", o.split,
      "Hundredths of the text for training, validation and a test at the end, in this order; 90/10/0: none to test on",
      check_split)
      ->group(group)
      ->needs(text);
  auto* data = add_text(command, "--data,--csv", "FILE|DIR", o.data, "Labelled texts, a file or a folder: a classifier")
                   ->group(group)
                   ->excludes(text);
  const auto check_validation = [](const std::string& typed) { (void)is_share(typed); };
  add_text(
      command, "--validation", "FILE|PART", o.validation,
      "Rows that choose the best checkpoint and end patience: a file, a folder, or a share of --data's, each label in "
      "proportion, rows with the same text on one side",
      check_validation)
      ->group(group)
      ->needs(data);
  auto* test = add_text(command, "--test,--csv-test", "FILE|DIR", o.test,
                        "Rows that choose nothing: measured once, at the end, by the best checkpoint")
                   ->group(group)
                   ->needs(data);
  const auto read_folds = [&o](const std::string& typed) { set_folds(o, typed); };
  add_option(
      command, "--folds", "K|I/K", read_folds,
      "K runs, in OUT/fold-1 to fold-K, each tested on another part of the rows; their mean and deviation. 2/5: the "
      "second of 5 alone, in OUT")
      ->group(group)
      ->needs(data)
      ->excludes(test);
  add_number(command, "--split-seed", o.split_seed, {0}, "Seed by which rows are divided")->group(group)->needs(data);
  o.form.add_to(command, data);
  const auto read_pad_to = [&o](const std::string& typed) {
    if (typed != "exact") check_length(typed);
    o.pad_to = typed;
  };
  add_option(command, "--pad-to", "N|exact", read_pad_to,
             help_text("Length that rows are filled up to; exact: their own", "at least 2",
                       "that of --from's rows or the sequences"))
      ->group(group)
      ->needs(data);
  add_number(command, "--word-dropout", o.word_dropout, {.lowest = 0, .highest = 1, .below = true},
             "Part of a row's words that are made unknown in training, others each time")
      ->group(group)
      ->needs(data);
  o.tokenizer.add_to(command, group);
  auto* from =
      add_text(command, "--from", "FOLDER", o.from,
               "Begin with the parameters and tokenizer of a run or checkpoint, and with its config where neither "
               "--recipe nor --config has another")
          ->group(group);
  for (const char* chosen : {"--tokenizer", "--vocabulary-size", "--min-count"})
    from->excludes(command.get_option(chosen));
}

std::string capital(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

Range<double> range_of(const weft::OptimizerInfo::Option& option) {
  Range<double> range{option.lowest};
  if (!std::isfinite(option.end)) return range;
  range.highest = option.end;
  range.below = true;
  return range;
}

// The optimizers' own options, each once: several may have one of that name.
void add_optimizer_options(CLI::App& command, weft::OptimizerOptions& o) {
  const std::string group = "Optimizer";
  std::vector<std::string> names, decays, own;
  std::map<std::string, std::vector<std::string>> usual;
  std::map<std::string, weft::OptimizerInfo::Option> first;
  for (const weft::OptimizerInfo& optimizer : weft::optimizers()) {
    names.push_back(optimizer.name);
    decays.push_back(optimizer.name + " " + as_text(optimizer.weight_decay));
    for (const auto& option : optimizer.own) {
      if (first.emplace(option.name, option).second) own.push_back(option.name);
      usual[option.name].push_back(optimizer.name + " " + as_text(option.usual));
    }
  }
  const auto check = [names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw weft::Error("unknown optimizer \"" + name + "\", expected one of " + list(names));
  };
  add_text(command, "--optimizer", "NAME", o.name, "What updates the parameters: " + list(names), check)->group(group);
  add_number(command, "--weight-decay", o.weight_decay, {0}, "Of matrices", list(decays))->group(group);
  add_number(command, "--clip", o.clip, {0}, "Highest norm of the gradient, 0 for any")->group(group);
  for (const std::string& name : own) {
    const std::function<void(double)> take = [&o, name](double value) { o.own[name] = value; };
    add_number(command, "--" + name, take, range_of(first[name]), capital(first[name].meaning), list(usual[name]))
        ->group(group);
  }
}

// "; times 0.1 for lion"
std::string describe_usual_rates() {
  std::string text;
  for (const weft::OptimizerInfo& optimizer : weft::optimizers())
    if (optimizer.rate != 1) text += "; times " + as_text(optimizer.rate) + " for " + optimizer.name;
  return text;
}

// The learning rate of the optimizer of that name as a multiple of AdamW's.
double usual_rate(const std::string& name) {
  for (const weft::OptimizerInfo& optimizer : weft::optimizers())
    if (optimizer.name == name) return optimizer.rate;
  return 1;
}

void add_training_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Training";
  auto* steps = add_number(command, "--steps", o.steps, {1}, "Steps", describe_usual_steps())->group(group);
  add_number(command, "--epochs", o.epochs, {.lowest = 0, .above = true},
             "The steps that go so often over all that is for training")
      ->group(group)
      ->excludes(steps);
  add_number(command, "--batch", o.batch, {1}, "Sequences in a batch", "12 of text, 32 of rows")->group(group);
  add_number(command, "--micro-batches", o.micro_batches, {1}, "Batches that make a step together",
             "1; under mpirun as many as ranks")
      ->group(group);
  const auto check_schedule = [](const std::string& name) { (void)weft::schedule_from_name(name); };
  add_text(command, "--schedule", "NAME", o.schedule, "Of the learning rate: " + list(weft::schedules()),
           check_schedule)
      ->group(group);
  add_number(command, "--lr", o.lr, {.lowest = 0, .above = true}, "Peak learning rate",
             "2e-3 for text, 1e-3 for rows" + describe_usual_rates() + "; factor 1 for noam")
      ->group(group);
  add_number(command, "--lr-floor", o.lr_floor, {0, 1}, "Cosine, linear: the last rate as a part of the peak", "0")
      ->group(group);
  add_number(command, "--warmup", o.warmup, {0}, "Steps until the peak", "100; noam 2000")->group(group);
  add_number(command, "--label-smoothing", o.label_smoothing, {.lowest = 0, .highest = 1, .below = true},
             "Part of the loss that is spread over all classes")
      ->group(group);
  const auto set_precision = [&o](weft::Precision given) { o.precision = given; };
  add_precision(command, set_precision, weft::precision_name(o.precision))->group(group);
  command
      .add_flag("--recompute", o.recompute,
                "Keep each layer's input alone for backward, which computes the layers again: the same bits in less "
                "memory and more time")
      ->group(group);
  add_number(command, "--seed", o.seed, {0}, "Seed of parameters, batches and dropout")->group(group);
  add_number(command, "--eval-every,--save-every", o.eval_every, {1},
             "Steps from one validation and checkpoint to the next", "a tenth of the steps, at most 500")
      ->group(group);
  add_number(command, "--patience", o.patience, {0}, "End after so many validations without a new best one; 0: never")
      ->group(group);
  std::vector<std::string> names;
  for (const auto& each : best_by_names) names.emplace_back(each.first);
  const auto check_best_by = [](const std::string& name) { (void)metric_of(name); };
  add_text(command, "--best-by", "NAME", o.best_by,
           "What makes a validation the best: " + list(names) + "; f1: the mean of the labels' F1; of texts loss alone",
           check_best_by)
      ->group(group);
}

void add_run_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Run";
  add_text(command, "--out", "FOLDER", o.out, "Of the run: checkpoints in best and last, run.json, metrics.jsonl")
      ->group(group);
  command
      .add_option(
          "--resume", o.resume,
          "Go on with the run in this folder, to the same bits as one that never stopped; of the other options "
          "with --steps, --epochs, --eval-every, --patience, --recompute, --threads, --log, --keep-going and where "
          "its data are now")
      ->group(group)
      ->type_name("FOLDER")
      ->expected(0, 1)
      ->take_last();
  command.add_flag("--overwrite", o.overwrite, "Replace the run in --out, when this one saves its first checkpoint")
      ->group(group);
  command.add_flag("--keep-going", o.keep_going, "Go on when a save fails, on a full disk, say, and try again later")
      ->group(group);
  add_text(command, "--log", "FILE", o.log,
           "File for the losses: step, loss, validation loss; beside --resume, too, it goes on in that")
      ->group(group);
}

// What neither changes the run that --resume goes on with nor is another one.
bool goes_with_resume(const std::string& name) {
  for (const char* each : {"--resume", "--steps", "--epochs", "--eval-every", "--patience", "--recompute", "--threads",
                           "--log", "--keep-going", "--text", "--data", "--validation", "--test", "--help"})
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

// The options that are of use beside others alone, and those others.
std::vector<std::pair<CLI::Option*, CLI::Option*>> partners_of(CLI::App& command) {
  std::vector<std::pair<CLI::Option*, CLI::Option*>> partners;
  for (const char* name : {"--text", "--data"})
    for (CLI::Option* each : command.get_options())
      if (CLI::Option* option = command.get_option(name); each->get_needs().count(option) > 0)
        partners.emplace_back(each, option);
  return partners;
}

}  // namespace

bool is_share(const std::string& validation) {
  if (!parse_decimal<double>(validation)) return false;
  (void)number_in(of_share, validation);
  return true;
}

std::string metric_of(const std::string& best_by) {
  std::vector<std::string> names;
  for (const auto& [name, metric] : best_by_names) {
    if (best_by == name) return metric;
    names.emplace_back(name);
  }
  throw weft::Error("expected one of " + list(names) + ", got \"" + best_by + "\"");
}

// With --config, --recipe and --resume the settings may be those of rows or of a text: CLI11 can't know whether they are missing.
void TrainOptions::add_to(CLI::App& command) {
  add_data_options(command, *this);
  model.add_to(command);
  add_training_options(command, *this);
  add_optimizer_options(command, optimizer);
  add_run_options(command, *this);
  of_data_ = partners_of(command);
  for (const char* settings : {"--config", "--recipe", "--resume"})
    command.get_option(settings)->each([&command, this](const std::string&) {
      for (const auto& [option, other] : of_data_) option->remove_needs(other);
    });
  command.parse_complete_callback([&command, this] { check_options(command, *this); });
}

void TrainOptions::parsed() const {
  for (const auto& [option, other] : of_data_) option->needs(other);
}

weft::TrainOptions TrainOptions::training(const weft::Model& made) const {
  weft::TrainOptions options;
  options.seed = seed;
  options.ranks = ranks;
  options.micro_batches = micro_batches.value_or(ranks == nullptr ? 1 : ranks->size());
  options.label_smoothing = label_smoothing;
  weft::Schedule& rate = options.schedule;
  rate.kind = weft::schedule_from_name(schedule);
  const bool noam = rate.kind == weft::ScheduleKind::noam, rows = !data.empty();
  rate.peak = lr.value_or(noam ? 1 : (rows ? 1e-3 : 2e-3) * usual_rate(optimizer.name));
  rate.steps = steps.value();
  rate.warmup = warmup.value_or(noam ? 2000 : 100);
  rate.floor = lr_floor.value_or(0);
  rate.d_model = config_value(made.config(), "d_model", 1);
  options.optimizer = optimizer;
  return options;
}

void TrainOptions::check_log(const CLI::App& command) const {
  if (log.empty()) return;
  for (const CLI::Option* option : command.get_options())
    if (option->get_type_name().starts_with("FILE") && option->get_name() != "--log")
      for (const std::string& input : option->results())
        if (same_file(log, input))
          throw weft::Error("--log names the input \"" + input + "\", which it would overwrite");
  for (const std::string& file : {weft::run_path(out), weft::metrics_path(out), out + "/.lock"})
    if (same_file(log, file)) throw weft::Error("--log names \"" + log + "\", which the run itself writes");
  for (const std::string& folder : {out, weft::best_path(out), weft::last_path(out), from})
    for (const char* file : {"model.safetensors", "config.json", "training.safetensors"})
      if (!folder.empty() && same_file(log, folder + "/" + file))
        throw weft::Error("--log names \"" + log + "\", a file of the run's checkpoints");
}
