// The subcommands of weft: each adds its options and says what to run if it is chosen.
#pragma once
#include <weft/ranks.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

// What was typed makes no sense: exit code 2, where other errors have 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The whole command: what main() gives back.
int run_command(int argc, char** argv);

struct Command {
  CLI::App* app;
  std::function<int()> run;  // gives the exit code
};

// Adds a subcommand to `weft` and says what to run. ranks: null if not under mpirun. Each stands in a file of its own, and is a line
// of commands.def.
#define WEFT_COMMAND(name) Command name##_command(CLI::App& weft, weft::Ranks* ranks);
#include "commands.def"
