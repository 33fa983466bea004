#include "train/former_settings.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "console/command.h"
#include "console/ranks.h"
#include "console/visible.h"
#include "options/run_file.h"
#include "train/run_settings.h"

namespace {

using weft::Error;

// Throws an Error if the data of a resumed run are neither at the old path nor at a path that an option gives.
void check_data_there(const CLI::App& command) {
  for (const char* name : {"--text", "--data", "--validation", "--test"})
    for (const std::string& path : command.get_option(name)->results()) {
      if (name == std::string("--validation") && (path == every_tenth_row || is_share(path))) continue;
      std::error_code none;
      if (std::filesystem::status(path, none).type() == std::filesystem::file_type::not_found)
        throw Error("can't open \"" + path + "\", which the run needs: give the new path with " + name);
    }
}

// If a different number of ranks began the run, prints whether the results change, and how many ranks are idle.
void print_ranks(const TrainOptions& o, std::int64_t before) {
  const std::int64_t now = o.ranks == nullptr ? 1 : o.ranks->size(), batches = o.micro_batches.value_or(1);
  if (now == before) return;
  // One process rounds nothing. Otherwise, each rank that computes micro-batches rounds their gradients.
  const bool changes =
      o.exchange == "bf16" && (std::min(now, before) == 1 || std::min(now, batches) != std::min(before, batches));
  std::cerr << "weft: " << before << (before == 1 ? " rank" : " ranks") << " began this run, and " << now
            << (now == 1 ? " continues" : " continue") << " it with "
            << (changes ? "different results (--exchange bf16); " : "bit-identical results; ") << batches
            << (batches == 1 ? " micro-batch" : " micro-batches") << " per step";
  if (batches < now)
    std::cerr << ", so " << now - batches << (now - batches == 1 ? " rank is idle" : " ranks are idle");
  std::cerr << std::endl;
}

// If the run was written by an earlier version of weft, prints the rule of that version that still applies.
void say_former(const std::string& settings) {
  const std::string former = describe_former(settings);
  if (!former.empty()) std::cerr << "weft: " << former << std::endl;
}

}  // namespace

std::int64_t open_run(CLI::App& command, TrainOptions& o, std::unique_ptr<weft::RunFolder>& folder) {
  o.out = o.resume;
  if (is_first(o.ranks)) {
    if (weft::saved_run(o.out).empty() && !std::filesystem::exists(weft::run_path(o.out)))
      throw Error("there is no run in \"" + o.out + "\"");
    folder = std::make_unique<weft::RunFolder>(o.out);
  }
  if (o.ranks != nullptr) o.ranks->gather("");  // after this, rank 0 has opened the folder
  const std::string path = weft::run_path(o.out);
  if (!std::filesystem::exists(path))
    throw Error("\"" + o.out + "\" has no run.json, without which the run can't continue: --from " + o.out +
                " begins a new run with its checkpoint");
  const std::string settings = weft::os::read_file(path);
  apply_run(command, settings, path, {"log"});
  // The log is not applied, because a folder from another person must not choose a file to write.
  const std::string log = run_text(settings, "run", "log");
  if (is_first(o.ranks) && o.log.empty() && !log.empty())
    std::cerr << "weft: the log \"" << visible(log)
              << "\", which the run began, is not continued: --log with its path continues it, --log with a new path "
                 "begins another"
              << std::endl;
  if (!run_text(settings, "data", "folds").empty() && command.count("--test") > 0)
    throw UsageError("--test: the run in \"" + o.out +
                     "\" is one fold of a cross-validation (--folds), and this fold is its test set");
  check_data_there(command);
  o.model.config = path;
  if (!o.from.empty() && !std::filesystem::exists(o.from)) o.from = weft::last_path(o.out);  // with the same tokenizer
  print_ranks(o, run_setting(settings, "machine", "ranks", 1));
  say_former(settings);
  return run_setting(settings, "training", "steps", 0);
}

void repeat_run(CLI::App& command, const std::string& settings, const std::string& path) {
  std::vector<std::string> except = {"log", "license", "about"};
  const bool other_rows = command.count("--data") > 0;
  if (other_rows && command.count("--recipe") == 0)
    except.insert(except.end(), {"format", "columns", "header", "literal-quotes", "test"});
  const std::string validation = run_text(settings, "data", "validation");
  if (other_rows && ((!validation.empty() && !is_share(validation)) || !describe_former(settings).empty()))
    except.emplace_back("validation");
  apply_run(command, settings, path, except);
  if (!other_rows) say_former(settings);
}
