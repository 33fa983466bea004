#include <weft/checkpoint.h>
#include <weft/generate.h>

#include <iostream>

#include "checkpoint_option.h"
#include "command.h"
#include "options.h"

namespace {

struct GenerateCommand {
  CheckpointOption checkpoint;
  std::string prompt;
  weft::GenerateOptions options;
};

int generate(const GenerateCommand& o) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint.path(), weft::Purpose::inference);
  bool accepted = false;
  const auto print_prompt = [&] {
    if (!accepted) std::cout << o.prompt;
    accepted = true;
  };
  weft::generate(*checkpoint.model, checkpoint.vocabulary, o.prompt, o.options, [&](const std::string& symbol) {
    print_prompt();
    return static_cast<bool>(std::cout << symbol << std::flush);
  });
  print_prompt();
  std::cout << "\n";
  return 0;
}

}  // namespace

Command generate_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("generate", "Continue a text with a causal language model");
  const auto o = std::make_shared<GenerateCommand>();
  weft::GenerateOptions& options = o->options;
  o->checkpoint.add_to(*command);
  add_option(
      *command, "--prompt", "TEXT", [o = o.get()](const std::string& text) { o->prompt = text; },
      "The text to continue");
  add_number(*command, "--tokens", options.tokens, {0}, "Symbols to generate");
  add_number(*command, "--temperature", options.temperature, {0}, "0: always the most likely symbol");
  add_number(*command, "--top-k", options.top_k, {0}, "Choose among the k most likely; 0: among all");
  add_number(*command, "--seed", options.seed, {0}, "Seed of the choices");
  add_threads(*command);
  command->footer(
      "Example:\n"
      "  weft generate book --prompt \"ROMEO:\" --tokens 300 --temperature 0.8 --top-k 20");
  return {command, [o] { return generate(*o); }};
}
