#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/generate.h>
#include <weft/os.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "checkpoint_option.h"
#include "command.h"
#include "options.h"

namespace {

struct GenerateCommand {
  CheckpointOption checkpoint;
  std::string prompt, prompt_file;
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
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint.path(), weft::Purpose::inference);
  const std::string prompt = prompt_of(o);
  const auto start = std::chrono::steady_clock::now();
  std::int64_t symbols = 0;
  for (std::int64_t i = 0; i < o.samples; ++i) {
    if (i > 0) std::cout << "---------------\n";
    weft::GenerateOptions options = o.options;
    options.seed += static_cast<std::uint64_t>(i);
    symbols += print_sample(checkpoint, prompt, options);
  }
  if (!std::cout.flush()) return 0;  // which main() says
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
  weft::GenerateOptions& options = o->options;
  o->checkpoint.add_to(*command);
  const auto take_prompt = [o = o.get()](const std::string& text) { o->prompt = text; };  // the empty one, too
  auto* prompt = add_option(*command, "--prompt", "TEXT", take_prompt, "The text to continue; - reads standard input");
  add_text(*command, "--prompt-file", "FILE", o->prompt_file, "The text to continue; - is standard input")
      ->excludes(prompt);
  add_number(*command, "--tokens", options.tokens, {0}, "Symbols to generate");
  add_number(*command, "--temperature", options.temperature, {0}, "0: always the most likely symbol");
  add_number(*command, "--top-k", options.top_k, {0}, "Choose among the k most likely; 0: among all");
  add_number(*command, "--top-p", options.top_p, {.lowest = 0, .highest = 1, .above = true},
             "Choose among the most likely that have this probability together");
  add_texts(*command, "--stop", "TEXT", options.stop, "End before this text; may be given more than once");
  add_number(*command, "--num-samples", o->samples, {1}, "Continuations: of --seed, of --seed + 1, ...");
  add_number(*command, "--seed", options.seed, {0}, "Seed of the choices");
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft generate book --prompt \"ROMEO:\" --tokens 300 --temperature 0.8 --top-p 0.9\n"
      "  weft generate book --prompt-file scene.txt --stop \"JULIET:\" --num-samples 3");
  return {command, [o] { return generate(*o); }};
}
