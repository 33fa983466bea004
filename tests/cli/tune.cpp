// Tests of weft tune and its search for settings.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "command.h"
#include "temporary_folder.h"
#include "tune/search.h"

namespace weft::test {
namespace {

// 120 rows whose labels follow from their first words.
std::string first_word_rows() {
  std::string csv = "label,text\n";
  const char* words[] = {"cat", "dog", "rose", "tulip"};
  for (int i = 0; i < 120; ++i)
    csv += std::string(i % 4 < 2 ? "animal" : "flower") + "," + words[i % 4] + " number " + std::to_string(i) + "\n";
  return csv;
}

// Options that make trials short. The checkpoints record the license.
const std::string short_trials = " -- --license MIT --d-model 8 --seq-len 8 --epochs 10 --layers 0";

// Returns the lines of trials.jsonl, without the fields that depend on the clock.
std::vector<nlohmann::json> trials_of(const TemporaryFolder& folder, const std::string& search) {
  std::vector<nlohmann::json> trials;
  std::istringstream lines(folder.read(search + "/trials.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    trials.push_back(nlohmann::json::parse(line));
    trials.back().erase("seconds");
    trials.back().erase("checkpoint");
  }
  return trials;
}

std::string after(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  REQUIRE(at != std::string::npos);
  return text.substr(at + label.size(), text.find('\n', at) - at - label.size());
}

}  // namespace

TEST_CASE(
    "tune: trials depend on the seed, the best trial's command gives the same result, and a search can continue") {
  const TemporaryFolder folder;
  folder.write("rows.csv", first_word_rows());
  const std::string data = folder / "rows.csv", search = folder / "search";
  const std::string tune = "tune --threads 1 --data " + data + " --test " + data;
  const Outcome whole = weft(tune + " --trials 7 --out " + search + short_trials);
  CAPTURE(whole.err);
  CAPTURE(whole.out);
  REQUIRE(whole.code == 0);
  CHECK(contains(whole.out, "trials 7 in "));
  CHECK(contains(whole.out, "test accuracy "));
  CHECK(trials_of(folder, "search").size() == 7);

  // Only the run of the best trial is kept. Its command gives the same checkpoint.
  const std::string best = after(whole.out, "best trial ");
  std::set<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(search)) kept.insert(entry.path().filename().string());
  CHECK(kept == std::set<std::string>{".lock", "tune.json", "trials.jsonl", "trial-" + best});
  std::string command = after(whole.out, "command weft ");
  command.replace(command.find("FOLDER"), 6, (folder / "again") + " --threads 1");
  REQUIRE(weft(command).code == 0);
  CHECK(folder.read("again/best/model.safetensors") == folder.read("search/trial-" + best + "/best/model.safetensors"));
  double highest = 0;
  for (const auto& trial : trials_of(folder, "search"))
    if (trial["score"].is_number()) highest = std::max(highest, trial["score"].get<double>());
  CHECK(number_after(whole.out, "validation accuracy ") == doctest::Approx(100 * highest).epsilon(1e-3));

  // A search in two parts, from a different folder and with an incomplete line, gives the same trials.
  CHECK(weft(tune + " --trials 3 --out " + (folder / "parts") + short_trials).code == 0);
  CHECK(trials_of(folder, "parts").size() == 3);
  folder.write("parts/trials.jsonl", folder.read("parts/trials.jsonl") + "{\"trial\":4,\"sco");
  CHECK(weft("tune --threads 1 --resume " + (folder / "parts") + " --trials 7").code == 0);
  CHECK(trials_of(folder, "parts") == trials_of(folder, "search"));

  // A line that is not a trial is an error that loses no trial.
  const std::string good = folder.read("search/trials.jsonl");
  const std::string first = good.substr(0, good.find('\n') + 1);
  for (const std::string bad : {"{}", "[1]", R"({"settings":{"--lr":1},"score":1})", R"({"settings":{}})", "7"}) {
    folder.write("parts/trials.jsonl", first + bad + "\n" + good);
    CHECK(fails_with(weft("tune --threads 1 --resume " + (folder / "parts") + " --trials 2"), 1,
                     "line 2 does not describe a trial"));
    CHECK(folder.read("parts/trials.jsonl") == first + bad + "\n" + good);
  }

  // Relative paths of the fixed options are kept as absolute paths, however they are given.
  folder.write("settings.json", R"({"arch": "gmlp"})");
  const auto relative = [&](const std::string& name) { return std::filesystem::relative(folder / name).string(); };
  CHECK(weft(tune + " --trials 1 --out " + (folder / "paths") + short_trials + " --validation=" + relative("rows.csv") +
             " --config " + relative("settings.json"))
            .code == 0);
  const std::string described = folder.read("paths/tune.json");
  CHECK(contains(described, "--validation=" + (folder / "rows.csv")));
  CHECK(contains(described, "\"" + (folder / "settings.json")));
  CHECK(contains(folder.read("paths/trial-1/run.json"), "\"gmlp\""));  // the file's architecture isn't searched

  CHECK(weft(tune + " --trials 7 --seed 2 --out " + (folder / "other") + short_trials).code == 0);
  CHECK(trials_of(folder, "other") != trials_of(folder, "search"));
}

TEST_CASE("tune: the maximum size limits the checkpoint in 8 bits, and the maximum time limits the search") {
  const TemporaryFolder folder;
  folder.write("rows.csv", first_word_rows());
  const std::string tune = "tune --threads 1 --data " + (folder / "rows.csv");
  const Outcome fits = weft(tune + " --trials 2 --size 20k --out " + (folder / "fits") + short_trials);
  CAPTURE(fits.err);
  REQUIRE(fits.code == 0);
  const std::string checkpoint = after(fits.out, "checkpoint ");
  CHECK(checkpoint.ends_with("/int8"));
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint)) bytes += entry.file_size();
  CHECK(bytes <= 20000);
  CHECK(contains(fits.out, " bytes"));
  folder.write("texts", "dog number 5\n");
  CHECK(weft("classify " + checkpoint + " " + (folder / "texts")).code == 0);

  const Outcome large = weft(tune + " --trials 1 --size 1k --out " + (folder / "large") + short_trials);
  CHECK(large.code == 1);
  CHECK(contains(large.err, "too large: "));
  CHECK(contains(large.err, "none of 1 trials has a score"));
  // The size is known before the training. A resumed search remembers what was too large.
  const Outcome one = weft(tune + " --trials 1 --size 20k --out " + (folder / "one") + short_trials);
  const auto bytes_after = [](std::string text, const std::string& label) {
    std::erase(text, ',');
    return number_after(text, label);
  };
  CHECK(bytes_after(large.err, "too large:") == doctest::Approx(bytes_after(one.out, "%")).epsilon(0.03));
  CHECK(contains(weft(tune + " --trials 1 --size 100 --out " + (folder / "wide")).err, "--d-model 64"));
  const Outcome resumed = weft("tune --threads 1 --trials 2 --resume " + (folder / "wide"));
  CHECK(contains(resumed.err, "trial 2"));
  CHECK(contains(resumed.err, "--d-model 32"));
  CHECK(contains(resumed.err, "--tokenizer words"));
  const Outcome slow =
      weft(tune + " --time 1 --out " + (folder / "slow") + " -- --layers 1 --d-model 64 --steps 100000 --seq-len 64");
  CHECK(slow.code == 1);
  CHECK(contains(slow.err, "ended early, because the search would exceed --time"));
}

TEST_CASE("tune: Ctrl-C keeps the finished trials, and --resume gives the result of a search that was not stopped") {
  const TemporaryFolder folder;
  folder.write("rows.csv", first_word_rows());
  const std::string tune = "tune --threads 1 --data " + (folder / "rows.csv") + " --test " + (folder / "rows.csv");
  const std::string longer_trials = " -- --d-model 16 --seq-len 8 --epochs 100 --layers 0 --patience 0";
  const Outcome stopped =
      weft_with_signal(tune + " --trials 1000 --out " + (folder / "stopped") + longer_trials, "trial 3, ", SIGINT);
  CAPTURE(stopped.err);
  CHECK(stopped.code == 128 + SIGINT);
  CHECK(stopped.out.empty());
  const auto finished = static_cast<std::size_t>(number_after(stopped.err, "weft: stopped after "));
  CHECK(finished >= 2);
  CHECK(finished < 1000);
  CHECK(contains(stopped.err, " trials: weft tune --resume " + (folder / "stopped") + " continues the search"));
  CHECK(trials_of(folder, "stopped").size() == finished);
  CHECK_FALSE(std::filesystem::exists(folder / ("stopped/trial-" + std::to_string(finished + 1))));

  const std::string trials = " --trials " + std::to_string(finished + 2);
  const Outcome resumed = weft("tune --threads 1 --resume " + (folder / "stopped") + trials);
  const Outcome whole = weft(tune + trials + " --out " + (folder / "whole") + longer_trials);
  CAPTURE(resumed.err);
  REQUIRE(resumed.code == 0);
  REQUIRE(whole.code == 0);
  CHECK(trials_of(folder, "stopped") == trials_of(folder, "whole"));
  for (const std::string label : {"best trial ", "validation ", "test accuracy ", "command "})
    CHECK(after(resumed.out, label) == after(whole.out, label));
  const std::string best = "/trial-" + after(whole.out, "best trial ") + "/best/model.safetensors";
  CHECK(folder.read("stopped" + best) == folder.read("whole" + best));
}

TEST_CASE("tune: without --out, the folder has the name of the data") {
  const TemporaryFolder folder;
  folder.write("rows.csv", first_word_rows());
  folder.write("here/file", "");
  // The command of a user: no folder, and limits of time and size. --trials ends it before the time.
  const auto here = [&](const std::string& arguments) {
    return shell("sh -c 'cd \"" + (folder / "here") + "\" && exec \"$WEFT\" tune --threads 1 " + arguments + "'");
  };
  const std::string data = "--data ../rows.csv --time 5:00 --size 2M --trials 1";
  const Outcome tuned = here(data + short_trials);
  CAPTURE(tuned.err);
  REQUIRE(tuned.code == 0);
  CHECK(after(tuned.out, "checkpoint ") == "rows-tune/trial-1/int8");
  CHECK(trials_of(folder, "here/rows-tune").size() == 1);
  CHECK(
      fails_with(here(data + short_trials), 1,
                 "\"rows-tune\" already contains a search: --resume rows-tune continues it, and --out names another"));
  CHECK(here("--resume rows-tune --trials 2").code == 0);
  CHECK(trials_of(folder, "here/rows-tune").size() == 2);
  CHECK(contains(weft("tune --help").out, "NAME-tune in the current folder"));

  // The whole name of a folder, even if it is given with a slash at its end.
  for (int i = 0; i < 20; ++i)
    for (const std::string label : {"cold", "warm"})
      folder.write("news.v1/" + label + "/" + std::to_string(i), label + " day " + std::to_string(i) + "\n");
  CHECK(here("--data ../news.v1/ --trials 1" + short_trials).code == 0);
  CHECK(trials_of(folder, "here/news.v1-tune").size() == 1);
  CHECK(
      fails_with(here("--data ../news.v1 --trials 1" + short_trials), 1, "\"news.v1-tune\" already contains a search"));

  folder.write("here/other-tune", "");
  folder.write("other.csv", first_word_rows());
  CHECK(fails_with(here("--data ../other.csv --trials 1" + short_trials), 1, "\"other-tune\" is not an empty folder"));
}

TEST_CASE("tune: --best-by an error, of which the lowest is the best") {
  const TemporaryFolder folder;
  std::string csv = "text,label\n";
  for (int i = 0; i < 60; ++i) csv += std::string(i % 2 == 0 ? "low" : "high") + "," + std::to_string(i % 7) + "\n";
  folder.write("rows.csv", csv);
  for (const std::string size : {"", " --size 500k"}) {
    const std::string name = size.empty() ? "full" : "small";
    const Outcome tuned = weft("tune --threads 1 --trials 4 --data " + (folder / "rows.csv") + " --out " +
                               (folder / name) + size + short_trials + " --task regression --best-by mae");
    CAPTURE(tuned.err);
    REQUIRE(tuned.code == 0);
    CHECK_FALSE(contains(tuned.out, "%"));
    double lowest = 1e9;
    std::set<double> errors;
    for (const auto& trial : trials_of(folder, name)) {
      if (trial["score"].is_null()) continue;  // FNet needs at least one layer
      const double error = number_after(trial["result"], "MAE ");
      errors.insert(error);
      CHECK(trial["score"].get<double>() == doctest::Approx(-error).epsilon(1e-3));
      lowest = std::min(lowest, error);
    }
    CHECK(errors.size() > 1);
    CHECK(number_after(tuned.out, "validation MAE ") == lowest);
    CHECK(contains(tuned.out, " --best-by mae"));
  }
}

TEST_CASE("tune: numbers and other tasks, and a list of the trials that fail") {
  const TemporaryFolder folder;
  std::string csv = "text,label\n";
  for (int i = 0; i < 60; ++i) csv += std::string(i % 2 == 0 ? "low" : "high") + "," + std::to_string(i % 2) + "\n";
  folder.write("rows.csv", csv);
  const Outcome regression = weft("tune --threads 1 --trials 2 --data " + (folder / "rows.csv") + " --out " +
                                  (folder / "search") + short_trials + " --task regression");
  CAPTURE(regression.err);
  CHECK(regression.code == 0);
  CHECK(contains(regression.out, "validation loss "));
  folder.write("labels.csv", first_word_rows());
  const Outcome failed = weft("tune --threads 1 --time 60 --data " + (folder / "labels.csv") + " --out " +
                              (folder / "failed") + " -- --task regression");
  CHECK(failed.code == 1);
  CHECK(contains(failed.err, "failed: [rows] the label \"animal\""));
  CHECK(contains(failed.err, "none of 4 trials has a score"));
  const Outcome again = weft("tune --threads 1 --time 60 --resume " + (folder / "failed"));
  CHECK(contains(again.err, "none of 8 trials has a score"));  // four more, although four were there
}

TEST_CASE("tune: mistakes are refused in one line") {
  const TemporaryFolder folder;
  folder.write("rows.csv", first_word_rows());
  const std::string tune = "tune --data " + (folder / "rows.csv") + " --out " + (folder / "x");
  CHECK(fails_with(weft(tune), 2, "give --time, for example --time 5:00"));
  CHECK(fails_with(weft(tune + " --trials 1 -- --out y"), 2, "--out can't be given after --"));
  CHECK(fails_with(weft(tune + " --trials 1 -- --no-such 1"), 2, "--no-such"));
  CHECK(fails_with(weft(tune + " --trials 1 -- --recipe tnn-lm-small"), 2, "--recipe can't be given after --"));
  folder.write("run.json", R"({"weft": "0.1.0", "model": {"arch": "gmlp"}})");
  CHECK(fails_with(weft(tune + " --trials 1 -- --config " + (folder / "run.json")), 2,
                   "which fixes all settings of a run"));
  CHECK(fails_with(weft(tune + " --trials 1 -- --find-lr"), 2, "--find-lr can't be given after --"));
  CHECK(fails_with(weft("tune --trials 1 --resume " + (folder / "x") + " -- --lr 1e-3"), 2, "leave out --lr"));
  CHECK(fails_with(weft(tune + " --time 5:"), 2, "expected a time like"));
  CHECK(fails_with(weft(tune + " --time 0"), 2, "expected a time like"));
  CHECK(fails_with(weft(tune + " --trials 1 --size 2X"), 2, "expected a size like"));
  CHECK(fails_with(weft("tune --trials 1 --out " + (folder / "x")), 2, "give --data, or --resume"));
  CHECK(fails_with(weft(tune + " --trials 1 -- --best-by recall"), 2,
                   "expected one of loss, accuracy, macro-f1, got \"recall\""));
  CHECK(
      fails_with(weft("tune --trials 1 --data " + (folder / "none.csv") + " --out " + (folder / "x")), 1, "none.csv"));
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
  folder.write("old/tune.json", "{}");
  folder.write("full/file", "kept");
  CHECK(fails_with(weft("tune --trials 1 --data " + (folder / "rows.csv") + " --out " + (folder / "full")), 1,
                   "is not an empty folder"));
  CHECK(fails_with(weft("tune --trials 1 --resume " + (folder / "old")), 1, "is not the tune.json of a search"));
  CHECK(fails_with(weft("tune --trials 1 --data " + (folder / "rows.csv") + " --out " + (folder / "old")), 1,
                   "already contains a search"));
}

TEST_CASE("tune: the search tries every starting point, then neighbors of the best one, and nothing twice") {
  const SearchSpace space = text_space("classifier", {"--lr"});
  std::vector<Trial> trials;
  std::set<std::vector<std::string>> seen;
  for (int i = 0; i < 40; ++i) {
    const auto settings = next_settings(space, trials, 5);
    REQUIRE(settings);
    const std::vector<std::string> options = options_of(space, *settings);
    CHECK(seen.insert(options).second);
    const auto has = [&](const std::string& name, const std::string& value) {
      const auto found = std::find(options.begin(), options.end(), name);
      return found != options.end() && found + 1 != options.end() && (value.empty() || found[1] == value);
    };
    CHECK_FALSE(has("--lr", ""));
    CHECK_FALSE((has("--layers", "0") && has("--arch", "fnet")));
    CHECK(has("--ngrams", "") == has("--tokenizer", "ngrams"));
    CHECK(has("--min-count", "") == has("--tokenizer", "words"));
    if (i < 4) CHECK(has("--layers", i < 3 ? "0" : "1"));
    // scores are better the closer the width is to 16
    trials.push_back({*settings, has("--d-model", "16") ? 3.0 : has("--d-model", "32") ? 2.0 : 1.0});
  }
  const auto narrow = std::count_if(trials.end() - 20, trials.end(),
                                    [](const Trial& trial) { return trial.settings.at("--d-model") == "16"; });
  CHECK(narrow > 8);
  SearchSpace none = space;
  none.choices.clear();
  CHECK(next_settings(none, {}, 1)->empty());
  CHECK_FALSE(next_settings(none, trials, 1));
  CHECK(options_of(number_space(true, {}), {{"--flips", "true"}, {"--shift", "2"}}) ==
        std::vector<std::string>{"--shift", "2", "--flips"});
}

TEST_CASE("tune: the search tries no settings that are known to be too large or too slow") {
  SearchSpace space = text_space("classifier", {});
  space.most_parameters = 1000000;
  std::vector<Trial> trials;
  const auto number = [](const Settings& settings, const char* option) { return std::stoll(settings.at(option)); };
  std::int64_t large = 0, slow = 0, with_words = 0;
  for (int i = 0; i < 60; ++i) {
    const auto settings = next_settings(space, trials, 3);
    REQUIRE(settings);
    const std::int64_t channels = number(*settings, "--d-model");
    const bool parts = settings->at("--tokenizer") == "ngrams";
    if (parts) CHECK(number(*settings, "--vocabulary-size") * channels <= space.most_parameters);
    const bool is_large = !parts && channels > 32;  // as for a vocabulary of 20,000 words
    const bool is_slow = !is_large && number(*settings, "--epochs") > 5;
    if (i == 0) CHECK(channels == 64);
    if (i == 1) CHECK((!parts && channels == 32));  // the first start again, with fewer channels
    for (const Trial& trial : trials)
      if (is_large && trial.fault == Fault::too_large && trial.settings.at("--arch") == settings->at("--arch"))
        CHECK((channels < number(trial.settings, "--d-model") ||
               number(*settings, "--layers") < number(trial.settings, "--layers") ||
               number(*settings, "--seq-len") < number(trial.settings, "--seq-len") ||
               number(*settings, "--min-count") > number(trial.settings, "--min-count")));
    if (i == 2) CHECK((!parts && channels == 32 && number(*settings, "--epochs") == 5));  // 8 epochs took too long
    large += is_large;
    slow += is_slow;
    with_words += !parts;
    const bool has_score = !is_large && !is_slow;
    trials.push_back({*settings, has_score ? std::optional<double>(1.0 / (i + 1)) : std::nullopt,
                      is_large  ? Fault::too_large
                      : is_slow ? Fault::too_slow
                                : Fault::none});
  }
  CHECK(large <= 8);
  CHECK(slow <= 30);
  // The vocabulary of words may be smaller than --vocabulary-size.
  SearchSpace words = text_space("classifier", {"--tokenizer"});
  words.most_parameters = 200000;
  CHECK(next_settings(words, {}, 1)->at("--d-model") == "64");
  // Another architecture may fit.
  trials.clear();
  bool has_other = false;
  for (int i = 0; i < 40; ++i) {
    const auto settings = next_settings(space, trials, 3);
    REQUIRE(settings);
    const bool is_words = settings->at("--tokenizer") == "words",
               is_large = is_words && settings->at("--arch") == "tnn";
    has_other = has_other || (is_words && !is_large);
    trials.push_back(
        {*settings, is_large ? std::nullopt : std::optional<double>(1), is_large ? Fault::too_large : Fault::none});
  }
  CHECK(has_other);
  CHECK(with_words > 5);
}

}  // namespace weft::test
