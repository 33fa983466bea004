#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/generate.h>
#include <weft/os.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

#include "console/command.h"
#include "console/input_file.h"
#include "console/options.h"
#include "options/checkpoint_option.h"

namespace {

struct GenerateCommand {
  CheckpointOption checkpoint;
  std::string prompt, prompt_file;
  std::int64_t samples = 1;
  weft::GenerateOptions options;
};

std::string read_standard_input() {
  InputFile input("-");
  std::string text;
  char part[1 << 14];
  while (const std::size_t bytes = input.read(part, sizeof part)) text.append(part, bytes);
  return text;
}

// Returns the text of a file, or of standard input for "-", without the final line end, which editors add.
std::string read_prompt(const std::string& path) {
  std::string text = path == "-" ? read_standard_input() : weft::os::read_file(path);
  for (const char end : {'\n', '\r'})
    if (!text.empty() && text.back() == end) text.pop_back();
  return text;
}

std::string prompt_of(const GenerateCommand& o) {
  if (o.prompt == "-") return read_prompt("-");
  return o.prompt_file.empty() ? o.prompt : read_prompt(o.prompt_file);
}

// Prints each sample, preceded by the prompt. The text of the current sample is printed as it is generated. The text of
// later samples is stored until their turn.
class SamplePrinter {
 public:
  SamplePrinter(std::string prompt, std::int64_t samples)
      : prompt_(std::move(prompt)), waiting_(static_cast<std::size_t>(samples)), ended_(waiting_.size()) {}

  // Returns false if standard output has failed.
  bool add(const weft::SampleText& piece) {
    const auto sample = static_cast<std::size_t>(piece.sample);
    waiting_[sample] += piece.text;
    ended_[sample] = piece.is_last;
    if (sample == current_) print();
    return static_cast<bool>(std::cout);
  }

  // Prints all text that is still stored.
  void finish() {
    ended_.assign(ended_.size(), true);
    print();
  }

 private:
  void print() {
    for (; current_ < waiting_.size(); ++current_, begun_ = false) {
      if (!begun_) std::cout << (current_ > 0 ? "---------------\n" : "") << prompt_;
      begun_ = true;
      std::cout << std::exchange(waiting_[current_], {}) << std::flush;
      if (!ended_[current_]) return;
      std::cout << "\n";
    }
  }

  std::string prompt_;
  std::vector<std::string> waiting_;  // the text of each sample that is not printed yet
  std::vector<bool> ended_;
  std::size_t current_ = 0;
  bool begun_ = false;  // whether the prompt of the current sample has been printed
};

int generate(const GenerateCommand& o) {
  const weft::Checkpoint checkpoint = o.checkpoint.load();
  const std::string prompt = prompt_of(o), why_slow = checkpoint.model->why_stream_is_slow();
  if (checkpoint.model->task() == weft::Task::causal_lm && !why_slow.empty())
    std::cerr << "weft: generation is slow, because each symbol needs a forward pass over the whole text: " << why_slow
              << std::endl;
  SamplePrinter printer(prompt, o.samples);
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t symbols =
      weft::generate_samples(*checkpoint.model, *checkpoint.tokenizer, prompt, o.options, o.samples,
                             [&](const weft::SampleText& piece) { return printer.add(piece); });
  printer.finish();
  if (!std::cout.flush()) return 0;  // run_command() reports the error
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char line[64];
  std::snprintf(line, sizeof line, "tokens/s %.0f\n", static_cast<double>(symbols) / std::max(seconds, 1e-9));
  std::cerr << line;
  return 0;
}

}  // namespace

Command generate_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("generate", "Continue a text with a causal language model");
  const auto o = std::make_shared<GenerateCommand>();
  weft::GenerateOptions& options = o->options;
  o->checkpoint.add_to(*command);
  // An empty prompt is valid, too. add_text() would reject it.
  const auto take_prompt = [o = o.get()](const std::string& text) { o->prompt = text; };
  auto* prompt =
      add_option(*command, "--prompt", "TEXT", take_prompt, "Text to continue; - reads it from standard input");
  add_text(*command, "--prompt-file", "FILE", o->prompt_file, "File with the text to continue; - means standard input")
      ->excludes(prompt);
  add_number(*command, "--tokens", options.tokens, {0}, "Number of symbols to generate");
  add_number(*command, "--temperature", options.temperature, {0},
             "Sampling temperature; 0: always choose the most likely symbol");
  add_number(*command, "--top-k", options.top_k, {0}, "Sample from the k most likely symbols; 0: from all symbols");
  add_number(*command, "--top-p", options.top_p, {.lowest = 0, .highest = 1, .above = true},
             "Sample from the smallest set of the most likely symbols whose probabilities add up to at least this");
  add_texts(*command, "--stop", "TEXT", options.stop, "Stop before this text; this option may be given more than once");
  auto* samples = add_number(
      *command, "--num-samples", o->samples, {1},
      "Number of continuations. Their seeds are --seed, --seed + 1, and so on. Up to eight run in one batch. "
      "The first is printed as it is generated, and the others follow in order");
  add_number(*command, "--seed", options.seed, {0}, "Seed of the random numbers for sampling");
  command
      ->add_flag(
          "--speculate", options.speculate,
          "Guess symbols from repetitions in the text, and check several guesses at once. The result is the same. "
          "Large models generate code and other texts with repetitions faster")
      ->excludes(samples);
  o->checkpoint.add_precision_to(*command);
  o->checkpoint.add_copy_to(*command);
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft generate book --prompt \"ROMEO:\" --tokens 300 --temperature 0.8 --top-p 0.9\n"
      "  weft generate book --prompt-file scene.txt --stop \"JULIET:\" --num-samples 3");
  return {command, [o] { return generate(*o); }};
}
