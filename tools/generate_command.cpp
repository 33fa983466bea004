#include <weft/checkpoint.h>
#include <weft/generate.h>

#include <iostream>

#include "command.h"

namespace {

struct GenerateCommand {
  std::string checkpoint, prompt;
  weft::GenerateOptions options;
};

int generate(const GenerateCommand& o) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint);
  bool accepted = false;
  const auto print_prompt = [&] {
    if (!accepted) std::cout << o.prompt;
    accepted = true;
  };
  weft::generate(*checkpoint.model, *checkpoint.tokenizer, o.prompt, o.options, [&](const std::string& symbol) {
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
  command->add_option("--checkpoint", o->checkpoint, "Folder that weft train wrote")->required();
  command->add_option("--prompt", o->prompt, "The text to continue");
  command->add_option("--tokens", o->options.tokens, "Symbols to generate")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--temperature", o->options.temperature, "0: always the most likely symbol")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--top-k", o->options.top_k, "Choose among the k most likely; 0: among all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", o->options.seed, "Seed of the choices")->capture_default_str();
  add_threads_option(*command);
  command->footer(
      "Example:\n"
      "  weft generate --checkpoint book --prompt \"ROMEO:\" --tokens 300 --temperature 0.8 --top-k 20");
  return {command, [o] { return generate(*o); }};
}
