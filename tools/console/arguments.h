// The command line between the shell and CLI11.
#pragma once
#include <string>
#include <vector>

#include "console/command.h"

// The arguments for CLI::App::parse: "help" and "help COMMAND" as --help; "--name=value" as two, so that an empty value
// is one. UsageError for a command that there isn't, also beside --help.
std::vector<std::string> arguments_for(const CLI::App& weft, int argc, const char* const* argv);

// What to say of an error of App::parse, with what a mistyped option may have meant.
std::string describe(const CLI::App& weft, const CLI::ParseError& error);
