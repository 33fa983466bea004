#include "console/arguments.h"

#include <algorithm>

#include "console/nearest.h"
#include "console/report.h"

namespace {

// Whether the argument is an option. "-" and "--" are not options.
bool is_option(const std::string& argument) {
  return argument.rfind('-', 0) == 0 && argument.find_first_not_of('-') != std::string::npos;
}

std::vector<std::string> command_names(const CLI::App& weft) {
  std::vector<std::string> names;
  for (const CLI::App* command : weft.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::string suggestion(const std::string& meant) { return meant.empty() ? "" : "; did you mean " + meant + "?"; }

// Skips help flags from the index `at` on and returns the index of the command. Returns arguments.size() if there is no
// command.
std::size_t command_place(const std::vector<std::string>& arguments, std::size_t at) {
  while (at < arguments.size() && (arguments[at] == "-h" || arguments[at] == "--help")) ++at;
  return at < arguments.size() && is_option(arguments[at]) ? arguments.size() : at;
}

// Returns the weft command that corresponds to the command `name` of fastText or nanoGPT, or "" if there is none.
std::string name_here(const std::string& name) {
  static const char* const names[][2] = {{"predict-prob", "classify"},
                                         {"test", "eval"},
                                         {"test-label", "eval"},
                                         {"supervised", "train"},
                                         {"sample", "generate"}};
  for (const auto& [there, here] : names)
    if (name == there) return here;
  return "";
}

const CLI::App* find_command(const CLI::App& weft, const std::string& name) {
  for (const CLI::App* command : weft.get_subcommands({}))
    if (command->get_name() == name) return command;
  const std::vector<std::string> names = command_names(weft);
  const std::string same = name_here(name), meant = same.empty() || weft.get_parent() ? nearest(name, names) : same;
  throw UsageError("unknown command \"" + name + "\"" +
                   (meant.empty() ? ", expected one of " + list(names) : suggestion(meant)));
}

// Returns the innermost command that was typed, for example `train` of "tokenizer train".
const CLI::App& typed_command(const CLI::App& weft, const std::vector<std::string>& arguments) {
  const CLI::App* command = &weft;
  for (std::size_t at = 0; !command->get_subcommands({}).empty(); ++at) {
    at = command_place(arguments, at);
    if (at == arguments.size()) break;
    command = find_command(*command, arguments[at]);
  }
  return *command;
}

// Returns the name of a command with its parents, for example "weft tokenizer train".
std::string whole_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : whole_name(*parent) + " ") + command.get_name();
}

bool takes_value(const CLI::App& command, const std::string& option) {
  const CLI::Option* known = command.get_option_no_throw(option);
  return known != nullptr && known->get_items_expected_max() > 0;
}

// Returns the message for an unknown option such as "--layer". Suggests the nearest option and ignores a value after
// "=".
std::string unknown_option(const CLI::App& command, const std::string& argument) {
  const std::string typed = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  const std::string meant = nearest(typed.substr(typed.find_first_not_of('-')), names);
  const std::string of = command.get_parent() == nullptr ? "" : " of " + whole_name(command);
  return "unknown option " + typed + of + suggestion(meant.empty() ? "" : "--" + meant);
}

}  // namespace

std::vector<std::string> arguments_for(const CLI::App& weft, int argc, const char* const* argv) {
  std::vector<std::string> typed(argv + 1, argv + argc), arguments;
  if (!typed.empty() && typed.front() == "help" && (typed.size() == 1 || !is_option(typed[1]))) {
    typed.erase(typed.begin());
    typed.emplace_back("--help");
  }
  const CLI::App& command = typed_command(weft, typed);
  bool is_value = false;
  for (const std::string& argument : typed) {
    const std::size_t equals = argument.find('=');
    if (!is_value && equals != std::string::npos && takes_value(command, argument.substr(0, equals))) {
      arguments.push_back(argument.substr(0, equals));
      arguments.push_back(argument.substr(equals + 1));
    } else {
      arguments.push_back(argument);
      is_value = !is_value && takes_value(command, argument);
    }
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them in reverse order
  return arguments;
}

std::string describe(const CLI::App& weft, const CLI::ParseError& error) {
  const CLI::App* innermost = &weft;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
  const CLI::App& command = *innermost;
  // If an option is unknown, it is probably mistyped, and the error that CLI11 reports is a consequence.
  const std::vector<std::string> rest = command.remaining();
  const auto option = std::find_if(rest.begin(), rest.end(), is_option);
  if (option != rest.end()) return unknown_option(command, *option);
  if (!rest.empty()) return "unexpected argument \"" + rest.front() + "\"";
  if (!command.get_subcommands({}).empty()) return "give a subcommand: " + list(command_names(command));
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return what.substr(0, what.find(':')) + ": expected a value, got none";
  return what;
}
