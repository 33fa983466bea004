// The subcommands of weft. Each adds its options and returns the function that runs it.
#pragma once
#include <weft/ranks.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

// A mistake on the command line, which causes exit code 2. Other errors cause exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs the whole command and returns the exit code of main().
int run_command(int argc, char** argv);

struct Command {
  CLI::App* app;
  std::function<int()> run;  // returns the exit code
};

// Adds a subcommand to `weft` and returns it with the function that runs it. `ranks` is null unless mpirun started
// several processes. Each subcommand has its own file and a line in commands.def.
#define WEFT_COMMAND(name) Command name##_command(CLI::App& weft, weft::Ranks* ranks);
#include "commands.def"
