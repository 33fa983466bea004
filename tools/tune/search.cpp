#include "tune/search.h"

#include <weft/random.h>

#include <algorithm>

namespace {

constexpr std::int64_t changed_at_most = 3, kept_best = 3, attempts = 100;

std::int64_t below(std::int64_t end, const weft::Random& random, std::uint64_t i) {
  return std::min(end - 1, static_cast<std::int64_t>(random.uniform(i) * static_cast<double>(end)));
}

// Removes the options that the user has fixed. --steps also fixes --epochs, because they exclude each other.
void remove_fixed(SearchSpace& space, std::vector<std::string> fixed) {
  if (std::find(fixed.begin(), fixed.end(), "--steps") != fixed.end()) fixed.push_back("--epochs");
  const auto is_fixed = [&](const std::string& option) {
    return std::find(fixed.begin(), fixed.end(), option) != fixed.end();
  };
  std::erase_if(space.choices, [&](const Choice& choice) { return is_fixed(choice.option); });
  for (Settings& start : space.starts)
    std::erase_if(start, [&](const auto& setting) { return is_fixed(setting.first); });
}

// Whether the option has an effect together with the other settings. If the option that `choice` needs is fixed,
// returns true.
bool applies(const SearchSpace& space, const Choice& choice, const Settings& settings) {
  if (choice.needs.empty()) return true;
  const auto other = settings.find(choice.needs);
  const bool is_searched = std::any_of(space.choices.begin(), space.choices.end(),
                                       [&](const Choice& each) { return each.option == choice.needs; });
  return !is_searched || (other != settings.end() && other->second == choice.needed);
}

Settings completed(const SearchSpace& space, Settings settings) {
  for (const Choice& choice : space.choices) settings.emplace(choice.option, choice.values[choice.values.size() / 2]);
  return settings;
}

// Returns the position of the option's value among the values to try, or -1 if the option is not searched or has no
// effect.
std::int64_t position(const SearchSpace& space, const Settings& settings, const std::string& option) {
  const auto value = settings.find(option);
  for (const Choice& choice : space.choices)
    if (choice.option == option && value != settings.end() && applies(space, choice, settings))
      return std::find(choice.values.begin(), choice.values.end(), value->second) - choice.values.begin();
  return -1;
}

// Options whose later values make a larger model. The order is that in which they are reduced.
const std::vector<std::string> sizes{"--d-model", "--vocabulary-size", "--layers", "--seq-len"};
// Options whose later values make a longer training.
const std::vector<std::string> costs{"--epochs", "--d-model", "--layers", "--seq-len"};

// Whether the settings have the same values as the trial for the options `same`, and the same or later values for the
// options `at_least`.
bool is_beyond(const SearchSpace& space, const Settings& settings, const Trial& trial,
               const std::vector<std::string>& at_least, const std::vector<std::string>& same) {
  const auto at = [&](const Settings& of, const std::string& option) { return position(space, of, option); };
  return std::all_of(at_least.begin(), at_least.end(),
                     [&](const auto& option) { return at(settings, option) >= at(trial.settings, option); }) &&
         std::all_of(same.begin(), same.end(),
                     [&](const auto& option) { return at(settings, option) == at(trial.settings, option); });
}

// Whether the model is known to be too large: its embeddings alone have too many parameters, or it is at least as large
// as that of a trial that was too large.
bool is_too_large(const SearchSpace& space, const std::vector<Trial>& trials, const Settings& settings) {
  // For other tokenizers than n-grams, the size of the vocabulary is only a limit.
  const bool has_buckets = position(space, settings, "--tokenizer") >= 0 && settings.at("--tokenizer") == "ngrams" &&
                           position(space, settings, "--vocabulary-size") >= 0;
  if (space.most_parameters > 0 && has_buckets && position(space, settings, "--d-model") >= 0 &&
      std::stoll(settings.at("--vocabulary-size")) * std::stoll(settings.at("--d-model")) > space.most_parameters)
    return true;
  return std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    return trial.fault == Fault::too_large &&
           is_beyond(space, settings, trial, sizes, {"--arch", "--tokenizer", "--min-count"});
  });
}

// Whether the training is known to take too long, because it takes at least as long as that of a trial that was ended
// early.
bool is_too_slow(const SearchSpace& space, const std::vector<Trial>& trials, const Settings& settings) {
  return std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    return trial.fault == Fault::too_slow &&
           is_beyond(space, settings, trial, costs,
                     {"--arch", "--tokenizer", "--ngrams", "--word-ngrams", "--pad-to", "--batch"});
  });
}

// Reduces one option after the other until the model is not known to be too large and its training is not known to take
// too long. Returns no value if there are no such settings.
std::optional<Settings> fitted(const SearchSpace& space, const std::vector<Trial>& trials, Settings settings) {
  const auto reduce = [&](const std::vector<std::string>& options, auto is_too_much) {
    for (const std::string& option : options)
      for (const Choice& choice : space.choices)
        for (std::int64_t i = position(space, settings, option);
             choice.option == option && i > 0 && is_too_much(space, trials, settings);)
          settings[option] = choice.values[static_cast<std::size_t>(--i)];
  };
  reduce(sizes, is_too_large);
  reduce({"--epochs"}, is_too_slow);
  if (is_too_large(space, trials, settings) || is_too_slow(space, trials, settings)) return std::nullopt;
  return settings;
}

// Returns a different value. A neighbor of the present value is more likely than other values.
std::string changed(const Choice& choice, const std::string& value, const weft::Random& random) {
  const std::int64_t count = std::ssize(choice.values);
  if (count < 2) return value;
  const auto found = std::find(choice.values.begin(), choice.values.end(), value);
  const std::int64_t at = found - choice.values.begin();
  constexpr double far = 0.25;
  std::int64_t next = at + (random.uniform(0) < 0.5 ? -1 : 1);
  if (random.uniform(1) < far) next = below(count, random, 2);
  if (next < 0 || next >= count) next = 2 * at - next;  // the other neighbor
  if (next == at || next >= count) next = (at + 1) % count;
  return choice.values[static_cast<std::size_t>(next)];
}

// Returns one of the best trials, most often the best one, or null if no trial has a score.
const Trial* one_of_the_best(const std::vector<Trial>& trials, const weft::Random& random) {
  std::vector<const Trial*> ranked;
  for (const Trial& trial : trials)
    if (trial.score) ranked.push_back(&trial);
  std::stable_sort(ranked.begin(), ranked.end(), [](const Trial* a, const Trial* b) { return *a->score > *b->score; });
  if (ranked.empty()) return nullptr;
  const std::int64_t kept = std::min<std::int64_t>(kept_best, std::ssize(ranked));
  return ranked[static_cast<std::size_t>(random.uniform(0) < 0.6 ? 0 : below(kept, random, 1))];
}

// Changes one to three settings that have an effect.
Settings neighbor(const SearchSpace& space, Settings settings, const weft::Random& random) {
  std::vector<const Choice*> counting;
  for (const Choice& choice : space.choices)
    if (applies(space, choice, settings)) counting.push_back(&choice);
  const std::int64_t changes = 1 + below(changed_at_most, random, 0);
  for (std::int64_t i = 0; i < changes; ++i) {
    const auto number = static_cast<std::uint64_t>(i) + 1;
    const Choice& choice = *counting[static_cast<std::size_t>(below(std::ssize(counting), random, number))];
    settings[choice.option] = changed(choice, settings[choice.option], random.split(number));
  }
  return settings;
}

}  // namespace

// Without layers, a TNN averages the embeddings of a row's tokens. The starts without layers use TNN, because FNet does
// so only with another option.
SearchSpace text_space(const std::string& task, const std::vector<std::string>& fixed) {
  SearchSpace space;
  space.choices = {
      {"--layers", {"0", "1", "2", "3"}, "", ""},
      {"--arch", {"tnn", "gmlp", "fnet"}, "", ""},
      {"--d-model", {"16", "32", "64", "128", "256"}, "", ""},
      {"--lr", {"5e-4", "1e-3", "2e-3", "4e-3", "8e-3", "1.6e-2"}, "", ""},
      {"--epochs", {"2", "3", "5", "8", "12", "20", "30"}, "", ""},
      {"--batch", {"16", "32", "64", "128"}, "", ""},
      {"--weight-decay", {"0", "0.01", "0.1", "0.5", "1"}, "", ""},
      {"--schedule", {"linear", "cosine"}, "", ""},
      {"--warmup", {"0", "100"}, "", ""},
  };
  if (task == "tagging") {
    space.choices.push_back({"--dropout", {"0", "0.1", "0.2", "0.3"}, "", ""});
    space.starts = {{{"--layers", "1"}, {"--arch", "tnn"}}, {{"--layers", "1"}, {"--arch", "gmlp"}}};
    remove_fixed(space, fixed);
    return space;
  }
  space.choices.push_back({"--tokenizer", {"words", "ngrams"}, "", ""});
  space.choices.push_back(
      {"--vocabulary-size", {"16003", "32003", "48003", "100003", "200003"}, "--tokenizer", "ngrams"});
  space.choices.push_back({"--ngrams", {"none", "1-4", "2-4", "3-5", "3-6"}, "--tokenizer", "ngrams"});
  space.choices.push_back({"--word-ngrams", {"1", "2", "3"}, "--tokenizer", "ngrams"});
  space.choices.push_back({"--seq-len", {"64", "128", "256", "512", "1024"}, "", ""});
  space.choices.push_back({"--min-count", {"1", "2", "3"}, "--tokenizer", "words"});
  if (task == "classifier") {
    space.choices.push_back({"--word-dropout", {"0", "0.1", "0.2", "0.3", "0.5"}, "", ""});
    space.choices.push_back({"--label-smoothing", {"0", "0.05", "0.1"}, "", ""});
    space.choices.push_back({"--pad-to", {"exact", ""}, "", ""});
  }
  const Settings words{{"--layers", "0"},    {"--arch", "tnn"}, {"--tokenizer", "words"},
                       {"--seq-len", "128"}, {"--lr", "4e-3"},  {"--pad-to", "exact"}};
  Settings parts = words, layers = words;
  parts["--tokenizer"] = "ngrams";
  parts["--ngrams"] = "none";
  parts["--word-ngrams"] = "2";
  Settings letters = parts;
  letters["--ngrams"] = "2-4";
  letters["--word-ngrams"] = "1";
  letters["--seq-len"] = "512";
  layers["--layers"] = "1";
  layers["--arch"] = "fnet";
  layers["--lr"] = "1e-3";
  space.starts = {words, parts, letters, layers};
  remove_fixed(space, fixed);
  return space;
}

SearchSpace number_space(bool pictures, const std::vector<std::string>& fixed) {
  SearchSpace space;
  space.choices = {
      {"--arch", {"tnn", "gmlp", "fnet"}, "", ""},
      {"--layers", {"1", "2", "3", "4", "6"}, "", ""},
      {"--d-model", {"32", "48", "64", "96", "128"}, "", ""},
      {"--lr", {"5e-4", "1e-3", "2e-3", "4e-3", "8e-3"}, "", ""},
      {"--epochs", {"5", "10", "20", "40", "80"}, "", ""},
      {"--batch", {"16", "32", "64", "128"}, "", ""},
      {"--weight-decay", {"0", "0.01", "0.1", "0.5"}, "", ""},
      {"--dropout", {"0", "0.1", "0.2"}, "", ""},
      {"--schedule", {"linear", "cosine"}, "", ""},
  };
  if (pictures) {
    space.choices.push_back({"--shift", {"0", "1", "2"}, "", ""});
    space.choices.push_back({"--flips", {"", "true"}, "", ""});
  }
  for (const char* arch : {"tnn", "gmlp", "fnet"})
    space.starts.push_back({{"--arch", arch}, {"--layers", "2"}, {"--epochs", "5"}, {"--flips", ""}, {"--shift", "0"}});
  remove_fixed(space, fixed);
  return space;
}

std::optional<Settings> next_settings(const SearchSpace& space, const std::vector<Trial>& trials, std::uint64_t seed) {
  if (space.choices.empty()) return trials.empty() ? std::optional<Settings>(Settings{}) : std::nullopt;
  // by default, an FNet without layers sees only the first token
  const auto is_useless = [](const Settings& settings) {
    const auto layers = settings.find("--layers"), arch = settings.find("--arch");
    return layers != settings.end() && arch != settings.end() && layers->second == "0" && arch->second == "fnet";
  };
  const auto is_tried = [&](const Settings& settings) {
    return std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
      return options_of(space, trial.settings) == options_of(space, settings);
    });
  };
  for (const Settings& start : space.starts)
    if (const auto whole = fitted(space, trials, completed(space, start));
        whole && !is_useless(*whole) && !is_tried(*whole))
      return whole;
  const weft::Random random = weft::Random(seed).split(trials.size());
  for (std::uint64_t i = 0; i < attempts; ++i) {
    const weft::Random attempt = random.split(i);
    const Trial* base = one_of_the_best(trials, attempt.split(0));
    const Settings from = base != nullptr ? base->settings : completed(space, {});
    const auto settings = fitted(space, trials, neighbor(space, from, attempt.split(1)));
    if (settings && !is_useless(*settings) && !is_tried(*settings)) return settings;
  }
  return std::nullopt;
}

std::vector<std::string> options_of(const SearchSpace& space, const Settings& settings) {
  std::vector<std::string> options;
  for (const Choice& choice : space.choices) {
    const auto found = settings.find(choice.option);
    if (found == settings.end() || found->second.empty() || !applies(space, choice, settings)) continue;
    options.push_back(choice.option);
    if (found->second != "true") options.push_back(found->second);
  }
  return options;
}
