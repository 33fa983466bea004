// The search of weft tune, which determines the next settings of weft train to try.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// An option and the values to try. The order of the values is such that neighbors are similar.
struct Choice {
  std::string option;               // "--lr"
  std::vector<std::string> values;  // "" leaves the option out
  std::string needs, needed;        // has an effect only if option `needs` has the value `needed`; empty: always
};

// A value for each choice.
using Settings = std::map<std::string, std::string>;

struct SearchSpace {
  std::vector<Choice> choices;
  std::vector<Settings> starts;  // settings to try first; choices without a value get their middle value
};

// The search spaces for rows of texts, and for rows of pictures or of other numbers (sounds, frames). `task` is a name
// of weft::tasks(). `fixed` contains the options that the user has chosen, which are not searched.
SearchSpace text_space(const std::string& task, const std::vector<std::string>& fixed);
SearchSpace number_space(bool pictures, const std::vector<std::string>& fixed);

// The settings and the score of a trial.
struct Trial {
  Settings settings;
  std::optional<double> score;  // higher is better; none if it was cut off, failed, or is too large
};

// Returns the settings of the next trial. These are the starts, one after the other, and then one of the best three
// trials with one to three settings changed. The result depends only on the arguments. It has no value if no new
// settings are found.
std::optional<Settings> next_settings(const SearchSpace& space, const std::vector<Trial>& trials, std::uint64_t seed);

// Returns the options for weft train. They contain the settings that have an effect, in the order of the choices.
std::vector<std::string> options_of(const SearchSpace& space, const Settings& settings);
