// The search of weft tune: which settings of weft train to try next.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// A setting and the values to try, in an order in which neighbors are alike.
struct Choice {
  std::string option;               // "--lr"
  std::vector<std::string> values;  // "" leaves the option out
  std::string needs, needed;        // only with this option at this value; empty: always
};

// A value for each choice.
using Settings = std::map<std::string, std::string>;

struct SearchSpace {
  std::vector<Choice> choices;
  std::vector<Settings> starts;  // what to try first; choices that one doesn't name have their middle value
};

// The space for rows of texts, of pictures, or of other numbers (sounds, frames). `task` is a name of weft::tasks().
// `fixed` are options that the user has chosen, which are not searched.
SearchSpace text_space(const std::string& task, const std::vector<std::string>& fixed);
SearchSpace number_space(bool pictures, const std::vector<std::string>& fixed);

// What a trial reached.
struct Trial {
  Settings settings;
  std::optional<double> score;  // higher is better; none if it was cut off, failed, or is too large
};

// The settings of the next trial: the starts in turn, then changes of up to three settings of one of the best three
// trials. Depends only on the arguments. None if nothing new is found.
std::optional<Settings> next_settings(const SearchSpace& space, const std::vector<Trial>& trials, std::uint64_t seed);

// The options for weft train: settings that apply, in the order of the choices.
std::vector<std::string> options_of(const SearchSpace& space, const Settings& settings);
