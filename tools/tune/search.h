// The search of weft tune, which determines the next settings of weft train to try.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/trial.h"

// An option and the values to try. Adjacent values are similar.
struct Choice {
  std::string option;               // "--lr"
  std::vector<std::string> values;  // "" leaves the option out
  std::string needs, needed;        // has an effect only if option `needs` has the value `needed`; "": always
};

// A value for each choice.
using Settings = std::map<std::string, std::string>;

struct SearchSpace {
  std::vector<Choice> choices;
  std::vector<Settings> starts;      // settings to try first; choices without a value get their middle value
  std::int64_t most_parameters = 0;  // 0: no limit
};

// The search spaces for rows of texts, and for rows of pictures or of other numbers (sounds, frames). `task` is one of
// the names that weft::tasks() returns. `fixed` contains the options that the user has chosen, which are not searched.
SearchSpace text_space(const std::string& task, const std::vector<std::string>& fixed);
SearchSpace number_space(bool pictures, const std::vector<std::string>& fixed);

// The settings and the score of a trial.
struct Trial {
  Settings settings;
  std::optional<double> score;  // higher is better; no value if the trial was ended early, failed, or is too large
  Fault fault = Fault::none;
};

// Returns the settings of the next trial. The first trials use the starts, one after the other. Each later trial uses
// the settings of one of the three best trials, with one to three settings changed. Settings whose model is known to be
// too large, or whose training is known to take too long, are not tried. Instead, they get fewer channels, a smaller
// vocabulary, fewer layers or fewer epochs. The result depends only on the arguments. It has no value if the search
// finds no new settings.
std::optional<Settings> next_settings(const SearchSpace& space, const std::vector<Trial>& trials, std::uint64_t seed);

// Returns the settings that have an effect as options for weft train, in the order of the choices.
std::vector<std::string> options_of(const SearchSpace& space, const Settings& settings);
