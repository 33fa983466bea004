#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/memory.h>
#include <weft/os.h>
#include <weft/trainer.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/options.h"
#include "console/progress.h"
#include "console/ranks.h"
#include "console/report.h"
#include "options/recipes.h"
#include "options/run_file.h"
#include "train/failed_saves.h"
#include "train/find_rate.h"
#include "train/former_settings.h"
#include "train/loss_log.h"
#include "train/run_settings.h"
#include "train/stop_signal.h"
#include "train/train_data.h"
#include "train/train_options.h"
#include "train/train_result.h"
#include "train/train_steps.h"

namespace {

using weft::Error;

// Throws an Error if the folder already has a run, which the first checkpoint of a new run would replace.
void check_nothing_lost(const TrainOptions& o) {
  const std::string saved = o.overwrite ? "" : weft::saved_run(o.out);
  if (!saved.empty())
    throw Error("\"" + saved + "\" already exists: --resume " + o.out + " continues it, --overwrite replaces it");
}

void print_start(const TrainOptions& o, const Training& training) {
  const weft::Model& model = *training.model;
  const weft::Data& data = *training.data;
  const weft::Context& context = weft::Context::current();
  const std::int64_t symbols = data.tokenizer()->size();  // 0 for rows of numbers
  for (const std::string& note : training.notes) std::cerr << note << std::endl;
  std::cerr << model.arch() << " " << weft::task_name(model.task()) << ", " << weft::parameter_count(model.parameters())
            << " parameters, " << (symbols > 0 ? std::to_string(symbols) + " symbols, " : "") << "sequences of "
            << data.length() << " in batches of " << data.batch() << "; "
            << (o.ranks == nullptr ? "" : std::to_string(o.ranks->size()) + " ranks of ") << context.threads()
            << " threads, " << weft::isa_name(context.isa()) << ", " << weft::precision_name(model.precision())
            << std::endl;
  if (!o.from.empty() && o.resume.empty())
    std::cerr << "training begins with the parameters of \"" << o.from << "\""
              << (training.new_parameters.empty() ? "" : "; new parameters: " + list(training.new_parameters))
              << std::endl;
}

// If a run is longer than first planned, its schedule ends later. Prints how that changes the learning rate.
void print_rate(std::int64_t done, std::int64_t steps, weft::Schedule schedule) {
  const double now = schedule(done + 1);
  schedule.steps = steps;
  const double before = schedule(done + 1);
  if (now != before)
    std::cerr << "weft: the " << weft::schedule_name(schedule.kind) << " schedule no longer ends at step " << steps
              << ": after step " << done << " the learning rate continues with " << as_text(now) << ", not with "
              << as_text(before) << std::endl;
}

// Whether the last checkpoint is complete and belongs to the saved state. A run that was killed may have saved only a
// part. config.json is written last.
bool is_saved(const weft::Trainer& trainer, const std::string& run) try {
  const std::string folder = weft::last_path(run);
  std::error_code ignored;  // load_checkpoint reports the error
  if (!std::filesystem::exists(folder + "/model.safetensors", ignored)) return false;
  if (!trainer.is_saved_as(weft::load_checkpoint(folder, weft::Purpose::inference)) ||
      !std::filesystem::exists(folder + "/config.json"))
    return false;
  const auto config = nlohmann::json::parse(weft::os::read_file(folder + "/config.json"), nullptr, false);
  return config.value("step", nlohmann::json()) == trainer.steps_done() &&
         config.value("validation_loss", nlohmann::json()).is_number();
} catch (const Error& error) {
  std::cerr << "weft: " << error.what() << "; training continues from the saved state of the run, which is intact"
            << std::endl;
  return false;
}

// Throws the error again with `more` added to its message.
[[noreturn]] void add_to(const Error& error, const std::string& more) {
  if (dynamic_cast<const weft::RankError*>(&error) != nullptr) throw weft::RankError(error.what() + more);
  throw Error(error.what() + more);
}

// Loads the state. Returns false if there is nothing to do.
bool resume(weft::Trainer& trainer, const TrainOptions& o, std::int64_t steps_before, const weft::Schedule& schedule) {
  const bool saved = std::filesystem::exists(weft::state_path(o.out));
  if (o.ranks != nullptr) check_alike(*o.ranks, {{"state of the run", saved ? "saved" : "not saved"}});
  if (!saved) {
    std::cerr << "weft: the run in \"" << o.out << "\" has not saved anything yet, so it starts from the beginning"
              << std::endl;
    return true;
  }
  try {
    trainer.load_state(weft::state_path(o.out));
  } catch (const Error& error) {
    add_to(error, " (--from " + o.out + " begins a new run with the checkpoint of this run)");
  }
  const std::int64_t done = trainer.steps_done();
  if (done > schedule.steps)
    throw Error("\"" + o.out + "\" is at step " + std::to_string(done) + ", beyond --steps " +
                std::to_string(schedule.steps));
  bool nothing_to_do = is_first(o.ranks) && is_saved(trainer, o.out) && done == schedule.steps;
  if (o.ranks != nullptr)
    nothing_to_do = !o.ranks->gather(nothing_to_do ? "1" : "")[0].empty();  // only rank 0 has the folder
  if (nothing_to_do) {
    std::cerr << "weft: nothing to do: \"" << o.out << "\" is at step " << done << " of " << schedule.steps
              << " (--steps makes the run longer)" << std::endl;
    return false;
  }
  if (schedule.steps != steps_before) print_rate(done, steps_before, schedule);
  return true;
}

// Keeps the memory that a step frees for the next step, even beyond the default budget, because getting pages from the
// system is slow.
void keep_memory_of_step() {
  const std::size_t peak = weft::Context::current().memory().use().peak;
  weft::MemoryCache::set_budget(std::max(weft::MemoryCache::budget(), peak));
}

weft::RunResult run(weft::Trainer& trainer, weft::RunFolder* folder, const TrainOptions& o, const Training& training,
                    LossLog& log) {
  ProgressDisplay display;
  FailedSaves failed(o.keep_going);
  weft::RunOptions run;
  run.open = folder;
  run.eval_every = o.eval_every.value();
  run.best_by = training.best_by.name;
  run.license = o.license;
  run.about = o.about;
  run.patience = o.patience;
  run.progress = [&](const weft::Progress& progress) {
    log.add(progress);
    display.show(progress);
    failed.step();
    keep_memory_of_step();
    return true;
  };
  run.evaluated = [&](std::int64_t step, const weft::Evaluation& evaluation) {
    log.add(step, evaluation);
    display.show(step, evaluation);
    failed.evaluated(step, display);
  };
  run.stop = [] { return stop_signal() != 0; };
  run.save_failed = [&](const Error& error) { return failed.add(error, display); };
  try {
    return trainer.run(run);
  } catch (const Error& error) {
    std::string more;
    if (std::filesystem::exists(weft::state_path(o.out)))
      more += "; earlier saves are intact (--resume " + o.out + " continues from there)";
    add_to(error, more + (failed.ended_run() ? "; with --keep-going, a run continues when a save fails" : ""));
  }
}

// Prints a warning if the warm-up is longer than the run.
void print_warmup(const weft::Schedule& schedule) {
  if (schedule.warmup <= schedule.steps) return;
  std::cerr << "the warm-up of " << schedule.warmup << " steps is longer than the run: the last learning rate is "
            << as_text(schedule(schedule.steps)) << " (--warmup, --steps)" << std::endl;
}

void check_schedule(const TrainOptions& o) {
  const weft::ScheduleKind kind = weft::schedule_from_name(o.schedule);
  if (kind != weft::ScheduleKind::cosine && kind != weft::ScheduleKind::linear && o.lr_floor.value_or(0) != 0)
    throw UsageError("--lr-floor applies only to the cosine and linear schedules, not to " + o.schedule);
}

// Throws a UsageError if some ranks would have no batch in a step of a new run.
void check_ranks(const TrainOptions& o) {
  if (o.ranks == nullptr || !o.micro_batches || *o.micro_batches >= o.ranks->size()) return;
  const std::int64_t ranks = o.ranks->size(), batch = o.batch.value_or(0) * *o.micro_batches / ranks;
  throw UsageError("--micro-batches " + std::to_string(*o.micro_batches) + " leaves some of " + std::to_string(ranks) +
                   " ranks idle: --micro-batches " + std::to_string(ranks) + " gives each rank one batch" +
                   (batch > 0 ? ", and --batch " + std::to_string(batch) + " keeps the size of the steps" : ""));
}

// How a run ended.
struct Ended {
  int code = 0;
  std::optional<weft::TestResult> test = {};
};

// Measures the test set of a run that has taken all its steps but was stopped before its test set was measured.
Ended test_what_ended(const weft::RunFolder* folder, const TrainOptions& o, const Training& training) {
  if (folder == nullptr || !training.test || weft::is_tested(o.out)) return {};
  stop_on_signals(o.ranks);
  const std::optional<weft::TestResult> test = measure_test(*folder, training, o);
  if (!test) return {128 + stop_signal()};
  print_test(*test, training);
  return {0, test};
}

// `steps_before` is the number of steps that a resumed run was planned to have. `described_by` is a line that says
// whether --config describes an architecture or a run, or "".
Ended train_one(CLI::App& command, TrainOptions& o, std::unique_ptr<weft::RunFolder> folder, std::int64_t steps_before,
                const std::string& described_by) {
  const bool resumed = !o.resume.empty();
  Training training = load_training(o);
  choose_steps(o, training);
  const weft::TrainOptions options = o.training(*training.model);
  weft::Trainer trainer(*training.model, *training.data, options);
  if (resumed) {
    if (!resume(trainer, o, steps_before, options.schedule)) return test_what_ended(folder.get(), o, training);
  } else if (is_first(o.ranks)) {
    folder = std::make_unique<weft::RunFolder>(o.out);
    check_nothing_lost(o);  // another run may have ended in the meantime
  }
  if (folder) {
    const std::string settings = describe_run(command, o, training, trainer);
    if (resumed) folder->describe(settings);
    else folder->begin(settings);
  }
  LossLog log(is_first(o.ranks) ? o.log : "", trainer.steps_done());
  stop_on_signals(o.ranks);
  if (!described_by.empty()) std::cerr << described_by << std::endl;
  print_start(o, training);
  print_warmup(options.schedule);
  const std::int64_t done = trainer.steps_done();
  const weft::RunResult result = run(trainer, folder.get(), o, training, log);
  if (result.stopped) {
    std::cerr << "weft: stopped after step " << trainer.steps_done() << "; saved in \"" << o.out << "\" (--resume "
              << o.out << " continues from there)" << std::endl;
    log.check();
    return {128 + stop_signal()};
  }
  Ended ended;
  std::string test_failed;  // the run has ended nevertheless, and its results are printed
  try {
    if (folder) ended.test = measure_test(*folder, training, o);
    if (folder && training.test && !ended.test) ended.code = 128 + stop_signal();
  } catch (const Error& error) {
    test_failed = error.what();
  }
  print_result(trainer, result, o, training, trainer.steps_done() - done, ended.test);
  log.check();
  if (!test_failed.empty()) throw Error(test_failed);
  return ended;
}

// Prints how to run the folds that remain after fold `stopped` (the first fold is 1).
void print_folds_left(const TrainOptions& o, std::int64_t stopped) {
  for (std::int64_t fold = stopped + 1; fold <= o.folds; ++fold)
    std::cerr << "weft: fold " << fold << " has not run yet: the same command with --folds " << fold << "/" << o.folds
              << " --out " << o.out << "/fold-" << fold << " runs it" << std::endl;
}

// Trains a run for each fold, each in its own folder.
int train_folds(CLI::App& command, const TrainOptions& o, const std::string& described_by) {
  std::vector<TrainOptions> all;
  for (std::int64_t fold = 0; fold < o.folds; ++fold) {
    TrainOptions one = o;
    one.fold = fold;
    one.out = o.out + "/fold-" + std::to_string(fold + 1);
    check_nothing_lost(one);
    all.push_back(one);
  }
  for (std::int64_t fold = o.folds + 1; std::filesystem::exists(o.out + "/fold-" + std::to_string(fold)); ++fold)
    std::cerr << "weft: \"" << o.out << "/fold-" << fold << "\" is kept; it is not one of these " << o.folds << " folds"
              << std::endl;
  std::vector<weft::TestResult> tests;
  for (TrainOptions& one : all) {
    std::cerr << "weft: fold " << *one.fold + 1 << " of " << o.folds << ", in \"" << one.out << "\"" << std::endl;
    const Ended ended = train_one(command, one, nullptr, 0, described_by);
    if (ended.code != 0) {
      print_folds_left(o, *one.fold + 1);
      return ended.code;
    }
    tests.push_back(*ended.test);
  }
  print_folds(tests);
  return 0;
}

void check_folds(const TrainOptions& o) {
  if (o.folds == 0 || o.fold) return;
  const std::string alone = "; --folds 1/" + std::to_string(o.folds) + " runs one fold by itself";
  if (o.ranks != nullptr)
    throw UsageError("--folds " + std::to_string(o.folds) + " can't be used under mpirun" + alone);
  if (!o.log.empty())
    throw UsageError("--log is for one run, but --folds " + std::to_string(o.folds) + " has several" + alone);
}

int train(CLI::App& command, TrainOptions& o) {
  o.parsed();
  std::unique_ptr<weft::RunFolder> folder;
  std::int64_t steps_before = 0;
  const bool resumed = !o.resume.empty();
  if (o.ranks != nullptr) check_alike(*o.ranks, {{"command", resumed ? "a resumed run" : "a new run"}});
  std::string described_by;
  if (resumed) {
    steps_before = open_run(command, o, folder);
  } else {
    const std::string settings = o.model.settings();
    const bool repeated = describes_run(settings);
    if (repeated) repeat_run(command, settings, o.model.settings_name());
    if (!o.model.config.empty())
      described_by = "\"" + o.model.config + "\" describes " + (repeated ? "a run" : "an architecture");
    check_partners(command);
    check_ranks(o);
    check_source(o);
    check_folds(o);
    if (!o.find_lr) check_nothing_lost(o);
  }
  check_schedule(o);
  if (o.find_lr) return find_learning_rate(o);
  if (o.best_by != "loss" && o.data.empty())
    throw UsageError("--best-by " + o.best_by + " applies only to --data: a language model has only the loss");
  o.check_log(command);
  if (o.folds > 0 && !o.fold) return train_folds(command, o, described_by);
  return train_one(command, o, std::move(folder), steps_before, described_by).code;
}

}  // namespace

Command train_command(CLI::App& weft, weft::Ranks* ranks) {
  CLI::App* command = weft.add_subcommand("train", "Train a model on a text or on labeled rows");
  const auto options = std::make_shared<TrainOptions>();
  options->ranks = ranks;
  options->add_to(*command);
  add_threads(*command);
  const std::string examples =
      "Examples:\n"
      "  weft train --arch gmlp --text book.txt --layers 4 --d-model 128 --seq-len 64 --out book\n"
      "  weft train --arch fnet --data train.csv --test test.csv --layers 2 --d-model 128 --out news\n"
      "  weft train --arch fnet --data train.csv --folds 5 --out folds\n"
      "  weft train --arch fnet --data train.csv --layers 2 --d-model 128 --find-lr\n"
      "  weft train --resume book --steps 4000\n"
      "  weft train --config book/run.json --seed 2 --out book2\n"
      "  weft train --from book --text letters.txt --out letters\n"
      "  mpirun -n 4 weft train --arch gmlp --text book.txt --out book\n"
      "Ctrl-C saves the run and stops it, and --resume continues it.\n"
      "weft recipes NAME and weft train --recipe NAME --help show a recipe's settings and their sources.";
  command->footer([command, examples] {
    const auto recipe_named = command->get_option("--recipe")->results();
    return recipe_named.empty() ? examples : "Recipe:\n" + describe_recipe(recipe(recipe_named.back()));
  });
  return {command, [command, options] { return train(*command, *options); }};
}
