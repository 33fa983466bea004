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

Command train_command(CLI::App& weft, weft::Ranks* ranks);  // null: not under mpirun
Command generate_command(CLI::App& weft);
Command classify_command(CLI::App& weft);
Command eval_command(CLI::App& weft);
Command fill_mask_command(CLI::App& weft);
Command report_command(CLI::App& weft);
Command tokenizer_command(CLI::App& weft);
Command quantize_command(CLI::App& weft);
Command average_command(CLI::App& weft);
Command convert_command(CLI::App& weft);
Command info_command(CLI::App& weft);
Command recipes_command(CLI::App& weft);
Command data_command(CLI::App& weft);
