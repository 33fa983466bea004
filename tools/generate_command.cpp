#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/generate.h>
#include <weft/os.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "command.h"

namespace {

struct GenerateCommand {
  std::string checkpoint, prompt, prompt_file;
  std::int64_t samples = 1;
  weft::GenerateOptions options;
};

// A file's text; of "-" that of standard input. The line end that editors put at the end is none of it.
std::string read_prompt(const std::string& path) {
  std::string text =
      path == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : weft::os::read_file(path);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string prompt_of(const GenerateCommand& o) {
  if (o.prompt == "-") return read_prompt("-");
  return o.prompt_file.empty() ? o.prompt : read_prompt(o.prompt_file);
}

// The prompt and its continuation, as it comes. Gives the number of symbols.
std::int64_t print_sample(const weft::Checkpoint& checkpoint, const std::string& prompt,
                          const weft::GenerateOptions& options) {
  bool accepted = false;
  const auto print_prompt = [&] {
    if (!accepted) std::cout << prompt;
    accepted = true;
  };
  const auto print = [&](const std::string& text) {
    print_prompt();
    return static_cast<bool>(std::cout << text << std::flush);
  };
  const std::int64_t count = weft::generate(*checkpoint.model, *checkpoint.tokenizer, prompt, options, print);
  print_prompt();
  std::cout << "\n";
  return count;
}

int generate(const GenerateCommand& o) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint);
  const std::string prompt = prompt_of(o);
  const auto start = std::chrono::steady_clock::now();
  std::int64_t symbols = 0;
  for (std::int64_t i = 0; i < o.samples; ++i) {
    if (i > 0) std::cout << "---------------\n";
    weft::GenerateOptions options = o.options;
    options.seed += static_cast<std::uint64_t>(i);
    symbols += print_sample(checkpoint, prompt, options);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char line[64];
  std::snprintf(line, sizeof line, "tokens/s %.0f\n", static_cast<double>(symbols) / std::max(seconds, 1e-9));
  std::cerr << line;
  return 0;
}

}  // namespace

Command generate_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("generate", "Continue a text with a causal language model");
  const auto o = std::make_shared<GenerateCommand>();
  command->add_option("--checkpoint", o->checkpoint, "Folder that weft train wrote")->required();
  auto* prompt = command->add_option("--prompt", o->prompt, "The text to continue; - reads it from standard input");
  command->add_option("--prompt-file", o->prompt_file, "A file with the text to continue; - is standard input")
      ->excludes(prompt);
  command->add_option("--tokens", o->options.tokens, "Symbols to generate")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--temperature", o->options.temperature, "0: always the most likely symbol")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--top-k", o->options.top_k, "Choose among the k most likely; 0: among all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--top-p", o->options.top_p, "Choose among the most likely that have this probability together")
      ->capture_default_str();
  command->add_option("--stop", o->options.stop, "End before this text; may be given more than once")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--num-samples", o->samples, "How many continuations: of --seed, of --seed + 1, …")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", o->options.seed, "Seed of the choices")->capture_default_str();
  add_threads_option(*command);
  command->footer(
      "Examples:\n"
      "  weft generate --checkpoint book --prompt \"ROMEO:\" --tokens 300 --temperature 0.8 --top-p 0.9\n"
      "  weft generate --checkpoint book --prompt-file scene.txt --stop \"JULIET:\" --num-samples 3");
  return {command, [o] { return generate(*o); }};
}
