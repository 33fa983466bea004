#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/os.h>
#include <weft/trainer.h>

#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

#include "command.h"
#include "model_options.h"
#include "options.h"
#include "progress.h"
#include "report.h"

namespace {

using weft::Error;

struct TrainCommand {
  ModelOptions model;
  std::string text, csv, csv_test, out, log;
  std::int64_t vocabulary_size = 20000, min_count = 2;
  std::optional<std::int64_t> classes, batch, steps, warmup;
  std::int64_t micro_batches = 1, eval_every = 500;
  std::optional<double> lr, lr_floor;
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
  auto* text = add_text(command, "--text", "FILE", o.text, "UTF-8 text: a language model by characters")->group(group);
  auto* csv = add_text(command, "--csv", "FILE", o.csv, "Rows \"class\",\"title\",\"description\": a classifier")
                  ->group(group)
                  ->excludes(text);
  add_text(command, "--csv-test", "FILE", o.csv_test, "Rows to test on, in place of every tenth row of --csv")
      ->group(group)
      ->needs(csv);
  add_number(command, "--classes", o.classes, {1}, "Number of classes", "the highest in --csv")
      ->group(group)
      ->needs(csv);
  add_number(command, "--vocabulary-size", o.vocabulary_size, {1}, "Most words that a classifier knows")
      ->group(group)
      ->needs(csv);
  add_number(command, "--min-count", o.min_count, {1}, "Fewest times that a word must occur")->group(group)->needs(csv);
  add_text(command, "--out", "FOLDER", o.out, "Folder for the checkpoint")->group(group)->required();
  add_text(command, "--log", "FILE", o.log, "File for the losses: step, loss, validation loss; --resume appends")
      ->group(group);
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
  add_text(command, "--optimizer", "NAME", o.name, "What updates the parameters: " + list(names))->group(group);
  add_number(command, "--weight-decay", o.weight_decay, {0}, "Of matrices", list(decays))->group(group);
  add_number(command, "--clip", o.clip, {0}, "Highest norm of the gradient, 0 for any")->group(group);
  for (const std::string& name : own) {
    const std::function<void(double)> take = [&o, name](double value) { o.own[name] = value; };
    add_number(command, "--" + name, take, range_of(first[name]), capital(first[name].meaning), list(usual[name]))
        ->group(group);
  }
}

void add_training_options(CLI::App& command, TrainCommand& o) {
  const std::string group = "Training";
  add_number(command, "--steps", o.steps, {1}, "Steps", "2000 of text, 1000 of rows")->group(group);
  add_number(command, "--batch", o.batch, {1}, "Sequences in a batch", "12 of text, 32 of rows")->group(group);
  add_number(command, "--micro-batches", o.micro_batches, {1}, "Batches whose mean gradient makes a step")
      ->group(group);
  add_text(command, "--schedule", "NAME", o.schedule, "Of the learning rate: " + list(weft::schedules()))->group(group);
  add_number(command, "--lr", o.lr, {.lowest = 0, .above = true}, "Peak learning rate",
             "2e-3 for text, 1e-3 for rows; factor 1 for noam")
      ->group(group);
  add_number(command, "--lr-floor", o.lr_floor, {0, 1}, "Cosine: the last rate as a part of the peak", "0")
      ->group(group);
  add_number(command, "--warmup", o.warmup, {0}, "Steps until the peak", "100; noam 2000")->group(group);
  add_number(command, "--seed", o.seed, {0}, "Seed of parameters, batches and dropout")->group(group);
  add_number(command, "--eval-every,--save-every", o.eval_every, {1},
             "Steps from one validation and checkpoint to the next")
      ->group(group);
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
};

std::unique_ptr<weft::Model> new_model(const TrainCommand& o, const weft::ModelSpec& spec) {
  return weft::make_model(spec, {weft::Random(o.seed).split(0), weft::DType::f32});
}

// The data are read before the model is made, which may be large.
Setup load_text(const TrainCommand& o, weft::ModelSpec spec) {
  const std::string text = weft::read_text(o.text);
  const auto vocabulary = weft::text_vocabulary(text, spec.task);
  spec.vocabulary = vocabulary.size();
  const auto planned = outline(spec);
  auto data =
      std::make_unique<weft::TextData>(text, vocabulary, spec.task, usual_length(*planned), o.batch.value_or(12));
  check_memory_to_train(*planned);
  return {new_model(o, spec), std::move(data)};
}

Setup load_csv(const TrainCommand& o, weft::ModelSpec spec) {
  weft::LabelledTexts training = weft::read_csv(o.csv, o.classes.value_or(0));
  const weft::LabelledTexts test =
      o.csv_test.empty() ? weft::hold_out(training) : weft::read_csv(o.csv_test, training.classes);
  if (training.texts.empty()) throw Error("\"" + o.csv + "\" has one row, which is held out: give more, or --csv-test");
  const auto vocabulary = weft::Vocabulary::of_words(training.texts, o.vocabulary_size, o.min_count);
  spec.vocabulary = vocabulary.size();
  spec.classes = training.classes;
  const auto planned = outline(spec);
  auto data =
      std::make_unique<weft::ClassifierData>(training, test, vocabulary, usual_length(*planned), o.batch.value_or(32));
  check_memory_to_train(*planned);
  return {new_model(o, spec), std::move(data)};
}

weft::TrainOptions train_options(const TrainCommand& o, const weft::Model& model) {
  weft::TrainOptions options;
  options.seed = o.seed;
  options.micro_batches = o.micro_batches;
  weft::Schedule& schedule = options.schedule;
  schedule.kind = weft::schedule_from_name(o.schedule);
  const bool noam = schedule.kind == weft::ScheduleKind::noam, rows = !o.csv.empty();
  schedule.peak = o.lr.value_or(noam ? 1 : rows ? 1e-3 : 2e-3);
  schedule.steps = o.steps.value_or(rows ? 1000 : 2000);
  schedule.warmup = o.warmup.value_or(noam ? 2000 : 100);
  schedule.floor = o.lr_floor.value_or(0);
  schedule.d_model = config_value(model.config(), "d_model", 1);
  options.optimizer = o.optimizer;
  return options;
}

void check_schedule(const TrainCommand& o) {
  if (weft::schedule_from_name(o.schedule) != weft::ScheduleKind::cosine && o.lr_floor)
    throw UsageError("--lr-floor is of the cosine schedule, this one is " + o.schedule);
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
  if (std::filesystem::is_symlink(folder, error) && !std::filesystem::exists(folder, error))
    throw Error("can't make the folder \"" + folder + "\": it is a link to \"" +
                std::filesystem::read_symlink(folder, error).string() + "\", which doesn't exist");
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("can't make the folder \"" + folder + "\": " + error.message());
  weft::os::remove_abandoned_files(folder);
  const weft::os::AtomicFile never_committed(model_path(folder));
}

void check_log_is_no_input(const TrainCommand& o) {
  std::error_code no_such_file;
  for (const std::string& input : {o.text, o.csv, o.csv_test})
    if (std::filesystem::equivalent(o.log, input, no_such_file))
      throw Error("--log names the input \"" + input + "\", which it would overwrite");
}

void print_start(const weft::Model& model, const weft::Data& data) {
  const weft::Context& context = weft::Context::current();
  std::cerr << model.arch() << " " << weft::task_name(model.task()) << ", " << weft::parameter_count(model.parameters())
            << " parameters, " << data.vocabulary().size() << " symbols, sequences of " << data.length()
            << " in batches of " << data.batch() << "; " << context.threads() << " threads, "
            << weft::isa_name(context.isa()) << std::endl;
}

// Warm-ups that a run doesn't come to the end of.
void print_warmup(const weft::Schedule& schedule) {
  if (schedule.warmup <= schedule.steps) return;
  std::cerr << "the warm-up of " << schedule.warmup << " steps is longer than the run: the last learning rate is "
            << as_text(schedule(schedule.steps)) << " (--warmup, --steps)" << std::endl;
}

int train(const TrainCommand& o) {
  if (o.text.empty() == o.csv.empty())
    throw Error("give --text FILE for a language model or --csv FILE for a classifier");
  check_schedule(o);
  const weft::Source source = o.csv.empty() ? weft::Source::text : weft::Source::rows;
  const weft::ModelSpec spec = o.model.spec(source);
  if (weft::task_source(spec.task) != source)
    throw Error(std::string("a ") + weft::task_name(spec.task) + " needs " + (o.csv.empty() ? "--csv" : "--text"));
  check_nothing_lost(o);
  check_log_is_no_input(o);
  const auto [model, data] = o.csv.empty() ? load_text(o, spec) : load_csv(o, spec);
  const weft::TrainOptions training = train_options(o, *model);
  weft::Trainer trainer(*model, *data, training);
  if (o.resume) {
    trainer.load_state(weft::state_path(o.out));
    check_something_to_do(o.out, trainer.steps_done(), training.schedule.steps);
  }
  check_writable(o.out);
  ProgressDisplay display(o.log, o.resume);
  stop_on_signals();
  print_start(*model, *data);
  print_warmup(training.schedule);

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
  print_evaluation(*result.evaluation, o.csv_test.empty() ? "validation" : "test");
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
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft train --arch gmlp --text book.txt --layers 4 --d-model 128 --seq-len 64 --out book\n"
      "  weft train --arch fnet --csv train.csv --csv-test test.csv --layers 2 --d-model 128 --out news\n"
      "Ctrl-C saves the checkpoint and stops.");
  return {command, [options] { return train(*options); }};
}
