#include "train/train_options.h"

#include <weft/error.h>
#include <weft/fit.h>
#include <weft/trainer.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "console/same_file.h"
#include "train/optimizer_options.h"
#include "train/train_steps.h"

namespace {

const Range<double> of_share{.lowest = 0, .highest = 1, .above = true, .below = true};

// Reads --folds. "5" means all five folds, and "2/5" means the second of five folds.
void set_folds(TrainOptions& o, const std::string& typed) {
  const std::size_t slash = typed.find('/');
  const Range<std::int64_t> range{.lowest = 2, .highest = 1000};
  o.folds = number_in(range, typed.substr(slash == std::string::npos ? 0 : slash + 1));
  o.fold.reset();
  if (slash != std::string::npos)
    o.fold = number_in(Range<std::int64_t>{.lowest = 1, .highest = o.folds}, typed.substr(0, slash)) - 1;
}

// Reads --positions.
void set_position_kind(TrainOptions& o, const std::string& name) {
  const std::vector<std::string> kinds = weft::position_kinds();
  if (std::find(kinds.begin(), kinds.end(), name) == kinds.end())
    throw weft::Error("expected one of " + list(kinds) + ", got \"" + name + "\"");
  o.positions = name;
}

// Checks the value of --pad-to.
void check_length(const std::string& typed) try {
  (void)number_in(Range<std::int64_t>{2}, typed);
} catch (const weft::Error&) {
  throw weft::Error("expected exact or a whole number of at least 2, got \"" + typed + "\"");
}

void add_data_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Data";
  auto* text = add_text(command, "--text", "FILE", o.text, "UTF-8 text to train a language model on")->group(group);
  const auto check_split = [](const std::string& typed) { (void)weft::text_split(typed); };
  add_text(command, "--split", "A/B/C", o.split,
           "Percentages of the text for the training, validation and test sets, in this order; for example, 90/10/0 "
           "makes no test set",
           check_split)
      ->group(group)
      ->needs(text);
  auto* data =
      add_text(command, "--data,--csv", "FILE|DIR", o.data,
               "File or folder of labeled texts, pictures, sounds or arrays, or a table with a time series (--frames)")
          ->group(group)
          ->excludes(text);
  const auto check_validation = [](const std::string& typed) { (void)is_share(typed); };
  add_text(
      command, "--validation", "FILE|PART", o.validation,
      "Validation set: a file, a folder, or a share of the rows of --data, such as 0.1. The validation set determines "
      "the best checkpoint and when --patience ends the run. A share is stratified by label, and rows with equal texts "
      "stay in the same set",
      check_validation)
      ->group(group)
      ->needs(data);
  auto* test = add_text(command, "--test,--csv-test", "FILE|DIR", o.test,
                        "Test set, on which the best checkpoint is measured once, at the end of the run")
                   ->group(group)
                   ->needs(data);
  const auto read_folds = [&o](const std::string& typed) { set_folds(o, typed); };
  add_option(
      command, "--folds", "K|I/K", read_folds,
      "Cross-validation: train K runs, in OUT/fold-1 to OUT/fold-K, each tested on a different part of the rows, and "
      "print the mean and the standard deviation of the test results. 2/5 trains only the second of 5 runs, in OUT")
      ->group(group)
      ->needs(data)
      ->excludes(test);
  add_number(command, "--split-seed", o.split_seed, {0}, "Seed for dividing the rows of --data into sets")
      ->group(group)
      ->needs(data);
  o.data_options.add_to(command, data);
  const auto read_pad_to = [&o](const std::string& typed) {
    if (typed != "exact") check_length(typed);
    o.pad_to = typed;
  };
  add_option(command, "--pad-to", "N|exact", read_pad_to,
             help_text("Text classifiers: number of tokens that rows are padded to; exact: no padding", "at least 2",
                       "as in the run of --from, or the length of the sequences"))
      ->group(group)
      ->needs(data);
  add_number(command, "--word-dropout", o.word_dropout, {.lowest = 0, .highest = 1, .below = true},
             "Text classifiers: share of a row's tokens that training replaces with the unknown symbol. The tokens are "
             "chosen anew each time that the row is used")
      ->group(group)
      ->needs(data);
  add_number(command, "--dimensions", o.dimensions, {1}, "Task retrieval: number of dimensions of a text's vector",
             "128")
      ->group(group)
      ->needs(data);
  add_number(command, "--patch", o.patch, {1}, "Pictures: side of the square patches that a model reads, in pixels",
             "the smallest that makes at most 64 patches")
      ->group(group)
      ->needs(data);
  add_number(command, "--shift", o.shift, {0},
             "Pictures: shift each training picture by a random number of pixels, at most N, along both axes", "0")
      ->group(group)
      ->needs(data);
  command.add_flag("--flips", o.flips, "Pictures: mirror a random half of the training pictures from left to right")
      ->group(group)
      ->needs(data);
  auto* positions =
      add_option(
          command, "--positions", "NAME", [&o](const std::string& name) { set_position_kind(o, name); },
          help_text("Rows of numbers: position embeddings of the frames or patches: " + list(weft::position_kinds()) +
                        ". With architecture, they are those that the architecture also adds to tokens",
                    "", weft::InputSpec().positions))
          ->group(group)
          ->needs(data);
  auto* frames =
      add_text(command, "--frames", "NAMES", o.frames,
               "Series: columns of numbers that the model reads, separated by commas. The rows of --data are "
               "in chronological order: the first 80 % are the training set, the next 10 % are the validation set, and "
               "the last 10 % are the test set")
          ->group(group)
          ->needs(data);
  add_text(command, "--target", "NAMES", o.target, "Series: columns to forecast, separated by commas")
      ->group(group)
      ->needs(frames);
  add_number(command, "--horizon", o.horizon, {1}, "Series: number of rows to forecast")->group(group)->needs(frames);
  add_number(command, "--season", o.season, {0},
             "Series: number of rows in a season. Forecasts are compared with the values one season earlier; 0: no "
             "season")
      ->group(group)
      ->needs(frames);
  o.tokenizer.add_to(command, group);
  auto* from = add_text(command, "--from", "FOLDER", o.from,
                        "Begin with the parameters and tokenizer of a run or checkpoint, and with its config unless "
                        "--recipe or --config gives a different one")
                   ->group(group);
  for (const char* chosen : {"--tokenizer", "--vocabulary-size", "--min-count"})
    from->excludes(command.get_option(chosen));
  from->excludes(positions);
}

void add_training_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Training";
  auto* steps = add_number(command, "--steps", o.steps, {1}, "Number of steps", describe_usual_steps())->group(group);
  add_number(command, "--epochs", o.epochs, {.lowest = 0, .above = true}, "Number of passes over the training data")
      ->group(group)
      ->excludes(steps);
  add_number(command, "--batch", o.batch, {1}, "Number of sequences in a batch",
             "12 for a text, 64 for the task retrieval, 32 for other rows")
      ->group(group);
  add_number(command, "--micro-batches", o.micro_batches, {1},
             "Number of batches per step, which uses the mean of their gradients", "1; under mpirun, one for each rank")
      ->group(group);
  const auto check_schedule = [](const std::string& name) { (void)weft::schedule_from_name(name); };
  add_text(command, "--schedule", "NAME", o.schedule, "Learning-rate schedule: " + list(weft::schedules()),
           check_schedule)
      ->group(group);
  add_number(command, "--lr", o.lr, {.lowest = 0, .above = true}, "Peak learning rate",
             "2e-3 for a text, 1e-3 for rows" + describe_usual_rates() + "; for the schedule noam, a factor of 1")
      ->group(group);
  add_number(command, "--lr-floor", o.lr_floor, {0, 1},
             "Final learning rate of the cosine and linear schedules, as a fraction of the peak", "0")
      ->group(group);
  add_number(command, "--warmup", o.warmup, {0},
             "Number of steps at the beginning, during which the learning rate rises to its peak", "100; 2000 for noam")
      ->group(group);
  add_number(command, "--label-smoothing", o.label_smoothing, {.lowest = 0, .highest = 1, .below = true},
             "Share of the target's probability that is spread over all classes")
      ->group(group);
  add_number(command, "--ema", o.ema, {.lowest = 0, .highest = 1, .below = true},
             "Decay of the moving average of the parameters, such as 0.999. Evaluations and checkpoints use the "
             "average; 0: no average",
             "0")
      ->group(group);
  const auto check_format = [](const std::string& name) {
    if (name != "none") (void)weft::quantization_from_name(name);
  };
  add_text(command, "--fake-quant", "FORMAT", o.fake_quant,
           "Train for weft quantize --to FORMAT (bf16, int8 or int4): steps, evaluations and checkpoints round the "
           "weights to FORMAT, while the exact weights learn. With none, weights are not rounded (default: none)",
           check_format)
      ->group(group);
  const auto check_rates = [](const std::string& rates) { (void)groups_of(rates); };
  add_text(
      command, "--rates", "NAME=FACTOR,…", o.rates,
      "Factors for the learning rates of parameters. NAME is the name of a parameter, or the part of parameter names "
      "before a dot (weft info FOLDER prints the names); 0: the parameters don't change",
      check_rates)
      ->group(group);
  auto* data = command.get_option("--data");
  const auto read_balance = [&o](const std::string& name) {
    o.balance = weft::balance_name(weft::balance_from_name(name));
  };
  add_option(
      command, "--balance", "NAME", read_balance,
      help_text("Balance classes of different frequency: weights gives rows of rare classes a larger weight in the "
                "loss; rows repeats rows of rare classes in an epoch until all classes are equally frequent; "
                "none does nothing. The task tagging accepts only none and weights",
                "", "none"))
      ->group(group)
      ->needs(data);
  add_number(command, "--focal", o.focal, {0},
             "Classes: exponent gamma of the focal loss, which reduces the loss of rows that are predicted well; 0: "
             "cross entropy",
             "0")
      ->group(group)
      ->needs(data);
  add_number(command, "--huber", o.huber, {0},
             "Regression and forecasts: error beyond which the loss grows linearly, in the unit of the labels; 0: "
             "squared error",
             "0")
      ->group(group)
      ->needs(data);
  const auto set_precision = [&o](weft::Precision given) { o.precision = given; };
  add_precision(command, set_precision, weft::precision_name(o.precision))->group(group);
  command
      .add_flag("--recompute", o.recompute,
                "Keep only each layer's input for the backward pass, which computes the layers again. The results are "
                "the same, but training needs less memory and more time")
      ->group(group);
  add_text(command, "--exchange", "f32|bf16", o.exchange,
           "Number format of the gradients that ranks of mpirun send to each other. bf16 halves the traffic, but the "
           "result then depends on the number of ranks (default: f32)",
           [](const std::string& name) { (void)weft::precision_from_name(name); })
      ->group(group);
  add_number(command, "--seed", o.seed, {0}, "Seed of the initial parameters, the order of the batches, and dropout")
      ->group(group);
  add_number(command, "--eval-every,--save-every", o.eval_every, {1},
             "Number of steps between validations, each of which saves a checkpoint",
             "a tenth of the steps, at most 500")
      ->group(group);
  add_number(command, "--patience", o.patience, {0},
             "Stop the run after this many consecutive validations without a new best result; 0: never")
      ->group(group);
  add_text(command, "--best-by", "NAME", o.best_by,
           "Metric that determines the best checkpoint: loss, or a metric that the run prints for its task, in lower "
           "case and with - for a blank, such as accuracy, macro-f1 (the mean of the labels' F1 scores, also called "
           "f1), mae or recall@10. Language models accept only loss")
      ->group(group);
}

// The options that may be given with --resume, because they don't turn the run into a different one.
const std::vector<std::string> settings_with_resume = {"--steps",      "--epochs",  "--eval-every", "--patience",
                                                       "--recompute",  "--threads", "--loaders",    "--log",
                                                       "--keep-going", "--license", "--about"};
const std::vector<std::string> paths_with_resume = {"--text", "--data", "--validation", "--test"};

void add_run_options(CLI::App& command, TrainOptions& o) {
  const std::string group = "Run";
  add_text(command, "--out", "FOLDER", o.out, "Folder of the run (best/, last/, run.json, metrics.jsonl)")
      ->group(group);
  command
      .add_option(
          "--resume", o.resume,
          "Continue the run in this folder. The result has the same bits as if the run had never stopped. The only "
          "other options that can be given are " +
              list(settings_with_resume) + " and the options that give the paths of the run's data (" +
              list(paths_with_resume) + ")")
      ->group(group)
      ->type_name("FOLDER")
      ->expected(0, 1)
      ->take_last();
  command
      .add_flag(
          "--find-lr", o.find_lr,
          "Find a learning rate instead of training. Takes 200 steps, or the number that --steps gives, while the "
          "rate grows from 1e-6 to 1. Prints the losses, and the rate at which the loss has made four fifths of its "
          "total decrease. "
          "Saves nothing")
      ->group(group)
      ->excludes(command.get_option("--resume"))
      ->excludes(command.get_option("--folds"));
  add_number(command, "--loaders", o.loaders, {0, 64},
             "Number of threads that prepare the batches of the next steps during a step; 0: the steps wait for their "
             "batches",
             "1 if there are several threads")
      ->group(group);
  command.add_flag("--overwrite", o.overwrite, "Replace the run in --out once the new run saves its first checkpoint")
      ->group(group);
  command
      .add_flag("--keep-going", o.keep_going,
                "Continue when a save fails, for example because the disk is full, and try again later")
      ->group(group);
  const auto check_text = [](const std::string& text) { weft::check_utf8(text, {}); };
  add_text(command, "--license", "NAME", o.license,
           "License of the model, such as CC-BY-4.0, which the checkpoints record (weft info shows it)", check_text)
      ->group(group);
  add_text(command, "--about", "TEXT", o.about, "Description of the model and its data, which the checkpoints record",
           check_text)
      ->group(group);
  add_text(
      command, "--log", "FILE", o.log,
      "File for a table of the steps, their losses and the validation losses; --resume with --log continues the file")
      ->group(group);
}

bool goes_with_resume(const std::string& name) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return name == "--resume" || name == "--help" || has(settings_with_resume) || has(paths_with_resume);
}

// Throws a CLI::ParseError if options contradict each other.
void check_options(const CLI::App& command, const TrainOptions& o) {
  if (command.count("--resume") == 0) {
    if (command.count("--out") == 0 && !o.find_lr) throw CLI::RequiredError("--out");
    return;
  }
  // if --resume has no value, CLI11 sets it to "true"
  if (command.count("--out") > 0 || o.resume.empty() || o.resume == "true")
    throw CLI::ValidationError("--resume takes the run's folder and needs no --out: weft train --resume " +
                               (o.out.empty() ? "DIR" : o.out));
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !goes_with_resume(option->get_name()))
      throw CLI::ValidationError("--resume continues with the run's own settings: leave out " + option->get_name() +
                                 ", or use --from " + o.resume + " to begin a new run with the parameters of this run");
}

// Returns the options that have an effect only with --text or --data, each with the option that it needs.
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

// With --config, --recipe and --resume, the settings may name a text or rows, so CLI11 can't know whether --text or
// --data is missing. Therefore these options suspend its check, and parsed() restores it.
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
  options.loaders = loaders;
  weft::Schedule& rate = options.schedule;
  rate.kind = weft::schedule_from_name(schedule);
  const bool noam = rate.kind == weft::ScheduleKind::noam;
  rate.peak =
      lr.value_or(weft::usual_rate(data.empty() ? weft::Source::text : weft::Source::rows, optimizer.name, rate.kind));
  rate.steps = steps.value();
  rate.warmup = warmup.value_or(noam ? 2000 : 100);
  rate.floor = lr_floor.value_or(0);
  rate.d_model = config_value(made.config(), "d_model", 1);
  options.optimizer = optimizer;
  options.optimizer.groups = groups_of(rates);
  options.ema = ema.value_or(0);
  if (!exchange.empty()) options.exchange = weft::precision_from_name(exchange);
  if (!fake_quant.empty() && fake_quant != "none") options.fake_quant = weft::quantization_from_name(fake_quant);
  return options;
}

weft::LearningOptions TrainOptions::learning() const {
  return {weft::balance_from_name(balance.empty() ? "none" : balance), focal.value_or(0), huber.value_or(0)};
}

void TrainOptions::check_log(const CLI::App& command) const {
  if (log.empty()) return;
  for (const CLI::Option* option : command.get_options())
    if (option->get_type_name().find("FILE") != std::string::npos && option->get_name() != "--log")
      for (const std::string& input : option->results())
        if (same_file(log, input))
          throw weft::Error("--log names the input \"" + input + "\", which the log would overwrite");
  for (const std::string& file : {weft::run_path(out), weft::metrics_path(out), out + "/.lock"})
    if (same_file(log, file)) throw weft::Error("--log names \"" + log + "\", which the run itself writes");
  for (const std::string& folder : {out, weft::best_path(out), weft::last_path(out), from})
    for (const char* file : {"model.safetensors", "config.json", "training.safetensors"})
      if (!folder.empty() && same_file(log, folder + "/" + file))
        throw weft::Error("--log names \"" + log + "\", a file of the run's checkpoints");
}
