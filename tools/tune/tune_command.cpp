// weft tune: searches for good settings of weft train within limits of time and size.
#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/os.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "console/command.h"
#include "console/json_file.h"
#include "console/options.h"
#include "console/progress.h"
#include "console/report.h"
#include "train/stop_signal.h"
#include "train/trial.h"
#include "tune/search.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using weft::Error;

struct TuneOptions {
  std::string data, test, out, resume;
  std::vector<std::string> fixed;  // options of weft train
  double seconds = 0;              // 0: no limit
  std::int64_t trials = 0;         // 0: no limit
  std::int64_t bytes = 0;          // 0: no limit
  std::uint64_t seed = 1;
};

// Returns the seconds of a time like "90", "5:00" or "1:30:00".
double read_time(const std::string& typed) {
  std::istringstream parts(typed);
  std::string part;
  bool is_valid = !typed.ends_with(':');
  double seconds = 0;
  int count = 0;
  for (; std::getline(parts, part, ':'); ++count) {
    const bool is_number = !part.empty() && part.size() <= 7 && part.find_first_not_of("0123456789") == part.npos;
    is_valid = is_valid && is_number;
    seconds = 60 * seconds + (is_number ? std::stod(part) : 0);
  }
  if (!is_valid || count > 3 || seconds <= 0)
    throw Error("expected a time like 90, 5:00 or 1:30:00, got \"" + typed + "\"");
  return seconds;
}

// Returns the bytes of a size like "500000", "500k" or "1.5M".
std::int64_t read_size(const std::string& typed) {
  const double unit = typed.ends_with("k") ? 1e3 : typed.ends_with("M") ? 1e6 : typed.ends_with("G") ? 1e9 : 1;
  const auto number = parse_decimal<double>(unit == 1 ? typed : typed.substr(0, typed.size() - 1));
  if (!number || !(*number * unit >= 1) || *number * unit > 1e15)
    throw Error("expected a size like 500000, 500k or 1.5M, got \"" + typed + "\"");
  return static_cast<std::int64_t>(*number * unit);
}

std::string search_path(const std::string& out) { return out + "/tune.json"; }
std::string trials_path(const std::string& out) { return out + "/trials.jsonl"; }

std::string quoted(const std::string& word) {
  return word.find_first_of(" '\"\\$*?|;&()<>") == std::string::npos ? word : "'" + word + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

std::string describe_search(const TuneOptions& o) {
  return ordered_json{{"data", o.data}, {"test", o.test}, {"fixed", o.fixed}, {"size", o.bytes}, {"seed", o.seed}}.dump(
             2) +
         "\n";
}

// A search in a folder, with its trials so far and their total time.
class Search {
 public:
  // `measure` is the value of --best-by for all trials. It is empty if the fixed options contain --best-by or if the
  // trials are compared by loss.
  Search(const TuneOptions& o, SearchSpace space, std::string measure)
      : o_(o), space_(std::move(space)), measure_(std::move(measure)) {}

  // Reads the trials of an earlier call. Removes an incomplete last line, which a killed process may leave. Throws an
  // Error for any other line that does not describe a trial.
  void read_trials() {
    const std::string path = trials_path(o_.out);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    const std::string text = weft::os::read_file(path);
    std::size_t end = 0;
    for (std::size_t next; (next = text.find('\n', end)) != std::string::npos; end = next + 1)
      read_trial(text.substr(end, next - end));
    if (end < text.size()) fs::resize_file(path, end);
    read_ = trials_.size();
  }

  int run() {
    while (const auto settings = next()) {
      const Trial trial{*settings, {}, Fault::none};
      if (!run_one(trial)) return 128 + stop_signal();
    }
    return finish();
  }

 private:
  void read_trial(const std::string& line) try {
    const json trial = json::parse(line);
    // A trial that was too slow for an earlier --time may be in time now.
    Trial read{
        trial.at("settings").get<Settings>(), {}, trial.value("too_large", false) ? Fault::too_large : Fault::none};
    if (!trial.at("score").is_null()) read.score = trial.at("score").get<double>();
    add(read, {read.score, trial.at("result"), read.fault, trial.at("checkpoint")}, trial.at("seconds"));
  } catch (const json::exception&) {
    throw Error("\"" + trials_path(o_.out) + "\": line " + std::to_string(trials_.size() + 1) +
                " does not describe a trial; remove this line to continue without it");
  }

  // Returns the next settings, or no value if the search is at its end.
  std::optional<Settings> next() const {
    if (o_.trials > 0 && std::ssize(trials_) >= o_.trials) return std::nullopt;
    if (o_.seconds > 0 && seconds_ >= o_.seconds) return std::nullopt;
    constexpr std::size_t enough = 4;
    if (failed_ >= enough && failed_ == trials_.size() - read_) return std::nullopt;
    return next_settings(space_, trials_, o_.seed);
  }

  std::vector<std::string> base() const {
    std::vector<std::string> options{"--data", o_.data};
    options.insert(options.end(), o_.fixed.begin(), o_.fixed.end());
    if (!measure_.empty()) options.insert(options.end(), {"--best-by", measure_});
    return options;
  }

  std::vector<std::string> command(const Settings& settings) const {
    std::vector<std::string> options = base();
    const std::vector<std::string> own = options_of(space_, settings);
    options.insert(options.end(), own.begin(), own.end());
    return options;
  }

  std::string folder(std::size_t number) const { return o_.out + "/trial-" + std::to_string(number); }

  // Runs a trial. Returns false if a signal asks to stop.
  bool run_one(Trial trial) {
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const std::size_t number = trials_.size() + 1;
    std::cerr << "trial " << number << ", " << as_time(seconds_) << (o_.seconds > 0 ? " of " + as_time(o_.seconds) : "")
              << ": " << joined(options_of(space_, trial.settings)) << std::endl;
    std::vector<std::string> options = command(trial.settings);
    options.insert(options.end(), {"--out", folder(number)});
    TrialLimits limits;
    limits.bytes = o_.bytes;
    limits.go_on = [&](const weft::Progress& progress) {
      constexpr std::int64_t enough = 20;  // number of steps after which the remaining time is known well enough
      return o_.seconds <= 0 || progress.step < enough || seconds_ + elapsed() + progress.seconds_left <= o_.seconds;
    };
    TrialResult result;
    try {
      result = run_trial(options, limits);
    } catch (const std::runtime_error& error) {  // for settings that contradict each other or don't fit the data
      result.text = std::string("failed: ") + error.what();
      ++failed_;
    }
    if (stop_signal() != 0 && !result.score) {
      fs::remove_all(folder(number));
      return stopped();
    }
    trial.score = result.score;
    trial.fault = result.fault;
    const double seconds = elapsed();
    weft::os::append(trials_path(o_.out), ordered_json{{"trial", number},
                                                       {"score", trial.score ? json(*trial.score) : json()},
                                                       {"result", result.text},
                                                       {"too_large", result.fault == Fault::too_large},
                                                       {"seconds", seconds},
                                                       {"checkpoint", result.checkpoint},
                                                       {"settings", trial.settings}}
                                                  .dump() +
                                              "\n");
    const std::size_t before = best_;
    add(trial, result, seconds);
    std::cerr << "  " << result.text << (best_ == number ? ", the best so far" : "") << std::endl;
    if (best_ != number) fs::remove_all(folder(number));
    else if (before > 0) fs::remove_all(folder(before));
    return stop_signal() == 0 || stopped();
  }

  // Prints how to continue. Returns false.
  bool stopped() const {
    std::cerr << "weft: stopped after " << trials_.size() << " trials: weft tune --resume " << o_.out
              << " continues the search; --time and --trials then include the trials so far" << std::endl;
    return false;
  }

  void add(const Trial& trial, const TrialResult& result, double seconds) {
    trials_.push_back(trial);
    seconds_ += seconds;
    if (!trial.score || (best_ > 0 && *trial.score <= *trials_[best_ - 1].score)) return;
    best_ = trials_.size();
    best_result_ = result;
  }

  int finish() {
    if (trials_.empty()) throw Error("even the smallest settings of the search exceed --size");
    if (best_ == 0)
      throw Error("none of " + std::to_string(trials_.size()) + " trials has a score: " + trials_path(o_.out) +
                  " has the reasons; a longer --time or a larger --size may help");
    std::vector<std::string> best = command(trials_[best_ - 1].settings);
    std::cout << "trials " << trials_.size() << " in " << as_time(seconds_) << "\nbest trial " << best_
              << "\nvalidation " << best_result_.text << "\n";
    if (!o_.test.empty()) {
      std::vector<std::string> options = best;
      options.insert(options.end(), {"--test", o_.test, "--out", folder(best_)});
      print_evaluation(test_trial(options, best_result_.checkpoint), "test");
    }
    std::cout << "checkpoint " << best_result_.checkpoint << "\ncommand weft train " << joined(best) << " --out FOLDER"
              << std::endl;
    return 0;
  }

  const TuneOptions& o_;
  SearchSpace space_;
  std::string measure_;
  std::vector<Trial> trials_;
  double seconds_ = 0;
  std::size_t best_ = 0;    // number of the best trial, from 1; 0: none
  std::size_t read_ = 0;    // trials of earlier calls
  std::size_t failed_ = 0;  // trials of this call that ended with an error
  TrialResult best_result_;
};

// Reads the settings of a search that an earlier call began. The earlier limits on time and trials do not apply.
void take_up(TuneOptions& o) {
  const std::string path = search_path(o.resume);
  const json search = parse_json(weft::os::read_file(path), path);
  try {
    o.data = search.at("data").get<std::string>();
    o.test = search.at("test").get<std::string>();
    o.fixed = search.at("fixed").get<std::vector<std::string>>();
    o.bytes = search.at("size").get<std::int64_t>();
    o.seed = search.at("seed").get<std::uint64_t>();
  } catch (const json::exception&) {
    throw Error("\"" + path + "\" is not the tune.json of a search");
  }
  o.out = o.resume;
}

// Makes the existing files and folders that the options name absolute, in the forms "--from DIR" and "--from=DIR".
void make_paths_absolute(std::vector<std::string>& words) {
  const auto absolute = [](const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored) ? fs::absolute(path).lexically_normal().string() : path;
  };
  for (const std::string option : {"--validation", "--from", "--tokenizer", "--config"})
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].starts_with(option + "=")) words[i] = option + "=" + absolute(words[i].substr(option.size() + 1));
      if (i > 0 && words[i - 1] == option) words[i] = absolute(words[i]);
    }
}

void begin(TuneOptions& o) {
  std::error_code ignored;
  if (fs::exists(search_path(o.out), ignored))
    throw Error("\"" + o.out + "\" already contains a search: --resume " + o.out +
                " continues it, and --out names another folder");
  if (fs::exists(o.out, ignored) && !(fs::is_directory(o.out, ignored) && fs::is_empty(o.out, ignored)))
    throw Error("\"" + o.out + "\" is not an empty folder: give a new or an empty folder for the search");
  if (!fs::exists(o.data, ignored)) throw Error("\"" + o.data + "\": no such file or folder");
  o.data = fs::absolute(o.data).lexically_normal().string();
  if (!o.test.empty()) o.test = fs::absolute(o.test).lexically_normal().string();
  // paths are absolute, because a search may be continued from another folder
  make_paths_absolute(o.fixed);
  fs::create_directories(o.out);
  weft::os::append(search_path(o.out), describe_search(o));
}

// Returns the folder of a search without --out: "train-tune" for the data train.csv.
std::string usual_folder(const std::string& data) {
  const fs::path path = fs::absolute(data).lexically_normal();
  if (!path.has_filename()) return path.parent_path().filename().string() + "-tune";
  return (fs::is_directory(path) ? path.filename() : path.stem()).string() + "-tune";
}

// Returns the names of the fixed options. Throws a UsageError for an option that weft tune itself sets.
std::vector<std::string> fixed_names(const TuneOptions& o) {
  std::vector<std::string> names;
  for (const std::string& word : o.fixed)
    if (word.starts_with("--")) names.push_back(word.substr(0, word.find('=')));
  for (const char* own : {"--data", "--csv", "--test", "--csv-test", "--out", "--resume", "--text", "--folds", "--log",
                          "--overwrite", "--find-lr", "--keep-going", "--recipe"})
    if (std::find(names.begin(), names.end(), own) != names.end())
      throw UsageError(std::string(own) +
                       " can't be given after --, because weft tune itself sets it or doesn't support it");
  return names;
}

int tune(TuneOptions& o) {
  if (o.seconds == 0 && o.trials == 0) throw UsageError("give --time, for example --time 5:00, or --trials, or both");
  if (o.resume.empty() && o.data.empty()) throw UsageError("give --data, or --resume");
  if (o.resume.empty() && o.out.empty()) o.out = usual_folder(o.data);
  if (!o.resume.empty() && !o.fixed.empty())
    throw UsageError("--resume continues with the search's own options: leave out " + o.fixed.front());
  if (!o.resume.empty()) take_up(o);
  std::vector<std::string> names = fixed_names(o);
  const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (has("--config")) names.emplace_back("--arch");  // the file names the architecture
  std::vector<std::string> probe{"--data", o.data, "--out", o.out};
  probe.insert(probe.end(), o.fixed.begin(), o.fixed.end());
  if (!has("--arch")) probe.insert(probe.end(), {"--arch", "gmlp"});
  const TrialRows rows = rows_of_trials(probe);
  if (o.resume.empty()) begin(o);
  const weft::os::FolderLock lock(o.out);  // only one process at a time may search in the folder
  const bool are_texts = rows.content == weft::RowContent::texts;
  const bool by_accuracy = rows.task == weft::Task::classifier && !has("--best-by");
  SearchSpace space = are_texts ? text_space(weft::task_name(rows.task), names)
                                : number_space(rows.content == weft::RowContent::pictures, names);
  space.most_parameters = o.bytes;  // in 8 bits, each parameter takes a byte
  Search search(o, std::move(space), by_accuracy ? "accuracy" : "");
  search.read_trials();
  stop_on_signals(nullptr);
  return search.run();
}

}  // namespace

Command tune_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("tune", "Find good settings of weft train within limits of time and size");
  const auto o = std::make_shared<TuneOptions>();
  auto* resume = add_text(*command, "--resume", "FOLDER", o->resume,
                          "Continue the search in this folder; --time and --trials include the trials so far");
  for (CLI::Option* option :
       {add_text(
            *command, "--data", "FILE|DIR", o->data,
            "Labeled rows as for weft train. By default, a tenth of them is the validation set, which determines the "
            "best trial"),
        add_text(*command, "--test", "FILE|DIR", o->test, "Test set, on which only the best model is measured"),
        add_text(*command, "--out", "FOLDER", o->out,
                 "Folder of the search, in which the run of the best trial is kept. It must be new or empty (default: "
                 "NAME-tune in the current folder, where NAME is the name of --data without its ending)"),
        add_option(
            *command, "--size", "SIZE", [o](const std::string& typed) { o->bytes = read_size(typed); },
            help_text("Maximum size in bytes of the checkpoint after quantization to 8 bits, for example 500k or 2M",
                      "", "no limit and no quantization")),
        add_number(*command, "--seed", o->seed, {0}, "Seed of the search")})
    resume->excludes(option);
  add_option(
      *command, "--time", "TIME", [o](const std::string& typed) { o->seconds = read_time(typed); },
      help_text("Maximum time of the search, for example 90 (seconds), 5:00 or 1:30:00. A trial that would exceed this "
                "time is ended early",
                "", "no limit"));
  const std::function<void(std::int64_t)> set_trials = [o](std::int64_t n) { o->trials = n; };
  add_number(*command, "--trials", set_trials, {1},
             "Maximum number of trials. Without --time, the same seed and number give the same result", "no limit");
  command
      ->add_option("options", o->fixed,
                   "After --: options of weft train that all trials share and that are not searched")
      ->type_name("");
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft tune --data train.csv --time 5:00 --size 2M\n"
      "  weft tune --data train.csv --test test.csv --time 5:00 --out search\n"
      "  weft tune --data train.csv --time 5:00 --size 1M --out small -- --columns text=body,label=kind\n"
      "  weft tune --resume search --time 20:00\n"
      "Ctrl-C stops the search, and --resume continues it. At its end, the search prints the weft\n"
      "train command of the best trial.");
  return {command, [o] { return tune(*o); }};
}
