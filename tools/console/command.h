// The subcommands of weft. Each adds its options and returns the function to run.
#pragma once
#include <weft/ranks.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

// A mistake on the command line: exit code 2. Other errors have exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The whole command: returns the exit code of main().
int run_command(int argc, char** argv);

struct Command {
  CLI::App* app;
  std::function<int()> run;  // returns the exit code
};

// Adds a subcommand to `weft` and returns what to run. ranks: null if not under mpirun. Each subcommand has a file of
// its own and a line in commands.def.
#define WEFT_COMMAND(name) Command name##_command(CLI::App& weft, weft::Ranks* ranks);
#include "commands.def"
