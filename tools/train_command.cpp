#include <weft/checkpoint.h>
#include <weft/classifier_data.h>
#include <weft/context.h>
#include <weft/os.h>
#include <weft/trainer.h>

#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

#include "command.h"
#include "data_options.h"
#include "model_options.h"
#include "progress.h"
#include "report.h"

namespace {

using weft::Error;

struct TrainCommand {
  ModelOptions model;
  DataOptions form;
  std::string text, data, test, out, log, pad_to;
  std::int64_t vocabulary_size = 20000, min_count = 2;
  std::optional<std::int64_t> batch, steps, warmup;
  std::int64_t micro_batches = 1, eval_every = 500;
  std::optional<double> lr;
  double lr_floor = 0;
  weft::OptimizerOptions optimizer;
  std::string schedule = "cosine";
  std::uint64_t seed = 1;
  bool resume = false, overwrite = false;
};

// The signal that asked to stop, or 0. A second one ends the program at once.
volatile std::sig_atomic_t stop_signal = 0;

extern "C" void ask_to_stop(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);
}

// Nobody reading what is printed (a closed terminal or pipe) is no reason to lose a run.
void stop_on_signals() {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  if (std::signal(SIGHUP, ask_to_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // started by nohup
  std::signal(SIGPIPE, SIG_IGN);
}

void add_data_options(CLI::App& command, TrainCommand& o) {
  const std::string group = "Data";
  auto* text = command.add_option("--text", o.text, "UTF-8 text: a language model by characters")->group(group);
  auto* data =
      command.add_option("--data,--csv", o.data, "Labelled texts, a file or a folder: a classifier")->group(group);
  command.add_option("--test,--csv-test", o.test, "Rows to test on (default: every tenth row of --data is held out)")
      ->group(group)
      ->needs(data);
  text->excludes(data);
  o.form.add_to(command);
  command
      .add_option("--pad-to", o.pad_to,
                  "Length that rows are filled up to, or exact: their own (default: that of the sequences)")
      ->group(group)
      ->needs(data);
  command.add_option("--vocabulary-size", o.vocabulary_size, "Most words that a classifier knows")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--min-count", o.min_count, "Fewest times that a word must occur")
      ->group(group)
      ->capture_default_str();
  command.add_option("--out", o.out, "Folder for the checkpoint")->group(group)->required();
  command.add_option("--log", o.log, "File for the losses: step, loss, validation loss; --resume appends")
      ->group(group);
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

void add_training_options(CLI::App& command, TrainCommand& o) {
  const std::string group = "Training";
  command.add_option("--steps", o.steps, "Steps (default: 2000 of text, 1000 of rows)")
      ->group(group)
      ->check(CLI::PositiveNumber);
  command.add_option("--batch", o.batch, "Sequences in a batch (default: 12 of text, 32 of rows)")
      ->group(group)
      ->check(CLI::PositiveNumber);
  command.add_option("--micro-batches", o.micro_batches, "Batches whose mean gradient makes a step")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--schedule", o.schedule, "Of the learning rate: " + list(weft::schedules()))
      ->group(group)
      ->capture_default_str();
  command.add_option("--lr", o.lr, "Peak learning rate (default: 2e-3 for text, 1e-3 for rows; factor 1 for noam)")
      ->group(group);
  command.add_option("--lr-floor", o.lr_floor, "Cosine: the last rate as a part of the peak")
      ->group(group)
      ->capture_default_str();
  command.add_option("--warmup", o.warmup, "Steps until the peak (default 100; noam 2000)")
      ->group(group)
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seed", o.seed, "Seed of parameters, batches and dropout")->group(group)->capture_default_str();
  command.add_option("--eval-every,--save-every", o.eval_every, "Steps from one validation and checkpoint to the next")
      ->group(group)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  auto* resume =
      command
          .add_flag("--resume", o.resume, "Go on from the state in --out, to the same bits as a run that never stopped")
          ->group(group);
  command.add_flag("--overwrite", o.overwrite, "Replace the checkpoint in --out by that of a new run")
      ->group(group)
      ->excludes(resume);
}

std::string model_path(const std::string& folder) { return folder + "/model.safetensors"; }

struct Setup {
  std::unique_ptr<weft::Model> model;
  std::unique_ptr<weft::Data> data;
  std::vector<std::string> notes;  // on the files
};

std::unique_ptr<weft::Model> new_model(const TrainCommand& o, weft::ModelSpec spec, const weft::Vocabulary& vocabulary,
                                       std::int64_t classes) {
  spec.vocabulary = vocabulary.size();
  spec.classes = classes;
  return weft::make_model(spec, {weft::Random(o.seed).split(0), weft::DType::f32});
}

Setup load_text(const TrainCommand& o, const weft::ModelSpec& spec) {
  const std::string text = weft::read_text(o.text);
  const auto vocabulary = weft::text_vocabulary(text, spec.task);
  Setup setup{new_model(o, spec, vocabulary, 0), nullptr, {}};
  setup.data =
      std::make_unique<weft::TextData>(text, vocabulary, spec.task, usual_length(*setup.model), o.batch.value_or(12));
  return setup;
}

// Of --pad-to: 0 if it gives no length.
std::int64_t padded_length(const std::string& pad_to) {
  if (pad_to.empty() || pad_to == "exact") return 0;
  std::int64_t length = 0;
  const char* end = pad_to.data() + pad_to.size();
  const auto [stop, error] = std::from_chars(pad_to.data(), end, length);
  if (error != std::errc() || stop != end || length < 2)
    throw Error("--pad-to " + pad_to + ": expected exact, or a length of at least 2");
  return length;
}

Setup load_rows(const TrainCommand& o, const weft::ModelSpec& spec) {
  const std::int64_t pad_to = padded_length(o.pad_to);
  weft::LabelledTexts training = weft::read_labelled(o.data, o.form.labelled());
  if (training.names.size() < 2)
    throw Error("\"" + o.data + "\": all rows have the label \"" + training.names[0] +
                "\"; a classifier needs two (--columns label=NAME says which column it is)");
  Setup setup;
  setup.notes.push_back(describe(o.data, training));
  weft::LabelledTexts test;
  if (o.test.empty()) {
    test = weft::hold_out(training);
  } else {
    test = weft::read_labelled(o.test, o.form.labelled(training.names));
    setup.notes.push_back(describe(o.test, test));
  }
  const auto vocabulary = weft::Vocabulary::of_words(training.texts, o.vocabulary_size, o.min_count);
  setup.model = new_model(o, spec, vocabulary, std::ssize(training.names));
  const std::int64_t length = pad_to > 0 ? pad_to : usual_length(*setup.model);
  setup.data = std::make_unique<weft::ClassifierData>(training, test, vocabulary, length, o.batch.value_or(32),
                                                      o.pad_to == "exact" ? weft::Padding::exact : weft::Padding::full);
  return setup;
}

weft::TrainOptions train_options(const TrainCommand& o, const weft::Model& model) {
  weft::TrainOptions options;
  options.seed = o.seed;
  options.micro_batches = o.micro_batches;
  weft::Schedule& schedule = options.schedule;
  schedule.kind = weft::schedule_from_name(o.schedule);
  const bool noam = schedule.kind == weft::ScheduleKind::noam, rows = !o.data.empty();
  schedule.peak = o.lr.value_or(noam ? 1 : rows ? 1e-3 : 2e-3);
  schedule.steps = o.steps.value_or(rows ? 1000 : 2000);
  schedule.warmup = o.warmup.value_or(noam ? 2000 : 100);
  schedule.floor = o.lr_floor;
  schedule.d_model = config_value(model.config(), "d_model", 1);
  options.optimizer = o.optimizer;
  return options;
}

// A new run would replace them at its first evaluation.
void check_nothing_lost(const TrainCommand& o) {
  if (o.resume || o.overwrite) return;
  for (const std::string& path : {model_path(o.out), weft::state_path(o.out)}) {
    std::error_code ignored;  // check_writable says what is wrong
    if (std::filesystem::exists(path, ignored))
      throw Error("\"" + path + "\" is there already: --resume goes on from it, --overwrite replaces it");
  }
}

// A run that was killed after its last step may have saved its state and not yet the checkpoint: that is to do.
void check_something_to_do(const std::string& folder, std::int64_t done, std::int64_t steps) {
  const bool saved = std::filesystem::exists(model_path(folder)) && weft::load_checkpoint(folder).info.step == done;
  if (done > steps || (done == steps && saved))
    throw Error("nothing to do: \"" + folder + "\" is at step " + std::to_string(done) + " of " +
                std::to_string(steps) + " (--steps makes the run longer)");
}

// Better now than after the first thousand steps.
void check_writable(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("can't make the folder \"" + folder + "\": " + error.message());
  weft::os::remove_abandoned_files(folder);
  const weft::os::AtomicFile never_committed(model_path(folder));
}

void check_log_is_no_input(const TrainCommand& o) {
  std::error_code no_such_file;
  for (const std::string& input : {o.text, o.data, o.test})
    if (std::filesystem::equivalent(o.log, input, no_such_file))
      throw Error("--log names the input \"" + input + "\", which it would overwrite");
}

void print_start(const weft::Model& model, const weft::Data& data) {
  const weft::Context& context = weft::Context::current();
  const bool exact = weft::task_source(model.task()) == weft::Source::rows && data.pad_to() == 0;
  std::cerr << model.arch() << " " << weft::task_name(model.task()) << ", " << weft::parameter_count(model.parameters())
            << " parameters, " << data.vocabulary().size() << " symbols, sequences of " << (exact ? "at most " : "")
            << data.length() << " in batches of " << data.batch() << "; " << context.threads() << " threads, "
            << weft::isa_name(context.isa()) << std::endl;
}

int train(const TrainCommand& o) {
  if (o.text.empty() == o.data.empty())
    throw Error("give --text FILE for a language model or --data FILE for a classifier");
  if (o.data.empty() && o.form.given()) throw Error("--format, --columns, --header and --skip-bad-rows are of --data");
  const weft::Source source = o.data.empty() ? weft::Source::text : weft::Source::rows;
  const weft::ModelSpec spec = o.model.spec(source);
  if (weft::task_source(spec.task) != source)
    throw Error(std::string("a ") + weft::task_name(spec.task) + " needs " + (o.data.empty() ? "--data" : "--text"));
  check_nothing_lost(o);
  check_log_is_no_input(o);
  const auto [model, data, notes] = o.data.empty() ? load_text(o, spec) : load_rows(o, spec);
  const weft::TrainOptions training = train_options(o, *model);
  weft::Trainer trainer(*model, *data, training);
  if (o.resume) {
    trainer.load_state(weft::state_path(o.out));
    check_something_to_do(o.out, trainer.steps_done(), training.schedule.steps);
  }
  check_writable(o.out);
  ProgressDisplay display(o.log, o.resume);
  stop_on_signals();
  for (const std::string& note : notes) std::cerr << note << std::endl;
  print_start(*model, *data);

  weft::RunOptions run;
  run.folder = o.out;
  run.eval_every = o.eval_every;
  run.progress = [&](const weft::Progress& progress) {
    display.show(progress);
    return stop_signal == 0;
  };
  const weft::RunResult result = trainer.run(run);
  if (result.stopped) {
    display.clear();
    std::cerr << "weft: stopped after step " << trainer.steps_done() << "; checkpoint saved in \"" << o.out
              << "\" (--resume goes on from there)" << std::endl;
    display.check_log();
    return 128 + stop_signal;
  }
  display.finish(trainer.steps_done(), *result.evaluation);
  std::cout << "checkpoint " << o.out << "\nparameters " << weft::parameter_count(model->parameters()) << "\ntime "
            << as_time(result.seconds) << "\n";
  print_evaluation(*result.evaluation, o.test.empty() ? "validation" : "test");
  std::cout << "tokens/s " << static_cast<std::int64_t>(result.tokens_per_second) << "\n";
  print_memory();
  display.check_log();
  return 0;
}

}  // namespace

Command train_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("train", "Train a language model or a classifier");
  const auto options = std::make_shared<TrainCommand>();
  add_data_options(*command, *options);
  options->model.add_to(*command);
  add_training_options(*command, *options);
  add_optimizer_options(*command, options->optimizer);
  add_threads_option(*command);
  command->footer(
      "Examples:\n"
      "  weft train --arch gmlp --text book.txt --layers 4 --d-model 128 --seq-len 64 --out book\n"
      "  weft train --arch fnet --data train.csv --test test.csv --layers 2 --d-model 128 --out news\n"
      "Ctrl-C saves the checkpoint and stops.");
  return {command, [options] { return train(*options); }};
}
