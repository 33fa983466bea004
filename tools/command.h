// The subcommands of weft: each adds its options and says what to run if it is chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

struct Command {
  CLI::App* app;
  std::function<int()> run;  // gives the exit code
};

Command train_command(CLI::App& weft);
Command generate_command(CLI::App& weft);
Command classify_command(CLI::App& weft);
Command eval_command(CLI::App& weft);
Command info_command(CLI::App& weft);

// --threads, for every command that computes.
void add_threads_option(CLI::App& command);
