// The command line between the shell and CLI11.
#pragma once
#include <string>
#include <vector>

#include "console/command.h"

// The arguments for CLI::App::parse: "help" and "help COMMAND" become --help; "--name=value" becomes two arguments, so
// that an empty value counts as one. UsageError for an unknown command, also beside --help.
std::vector<std::string> arguments_for(const CLI::App& weft, int argc, const char* const* argv);

// The message for an error of App::parse, with a suggestion for a mistyped option.
std::string describe(const CLI::App& weft, const CLI::ParseError& error);
