// Prepares the command line for CLI11, and describes CLI11's errors.
#pragma once
#include <string>
#include <vector>

#include "console/command.h"

// Returns the arguments for CLI::App::parse. "help" and "help COMMAND" become --help. "--name=value" becomes two
// arguments, so that an empty value counts as a value. Throws a UsageError for an unknown command, even if --help is
// given.
std::vector<std::string> arguments_for(const CLI::App& weft, int argc, const char* const* argv);

// Returns the message for an error of App::parse, with a suggestion for a mistyped option.
std::string describe(const CLI::App& weft, const CLI::ParseError& error);
