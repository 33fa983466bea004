#include "train/optimizer_options.h"

#include <weft/error.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>

#include "console/command.h"
#include "console/number.h"
#include "console/options.h"
#include "console/report.h"

namespace {

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

}  // namespace

// Several optimizers may have an option with the same name. Such an option is added only once.
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
  const auto check = [names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw weft::Error("unknown optimizer \"" + name + "\", expected one of " + list(names));
  };
  add_text(command, "--optimizer", "NAME", o.name, "Optimizer: " + list(names), check)->group(group);
  add_number(command, "--weight-decay", o.weight_decay, {0}, "Weight decay, applied only to matrices", list(decays))
      ->group(group);
  add_number(command, "--clip", o.clip, {0}, "Maximum norm of the gradient; 0: no limit")->group(group);
  for (const std::string& name : own) {
    const std::function<void(double)> take = [&o, name](double value) { o.own[name] = value; };
    add_number(command, "--" + name, take, range_of(first[name]), capital(first[name].meaning), list(usual[name]))
        ->group(group);
  }
}

std::string describe_usual_rates() {
  std::string text;
  for (const weft::OptimizerInfo& optimizer : weft::optimizers())
    if (optimizer.rate != 1) text += "; multiplied by " + as_text(optimizer.rate) + " for " + optimizer.name;
  return text;
}

std::vector<weft::ParameterGroup> groups_of(const std::string& rates) {
  std::vector<weft::ParameterGroup> groups;
  std::istringstream parts(rates);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw weft::Error("expected NAME=FACTOR, or several of these separated by commas, got \"" + rates + "\"");
    groups.push_back({part.substr(0, equals), number_in(Range<double>{.lowest = 0}, part.substr(equals + 1))});
  }
  return groups;
}
