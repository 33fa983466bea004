// How texts are tokenized.
#pragma once
#include <weft/tokenizer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct TokenizerChoice {
  std::string tokenizer;             // a kind or a file; empty: the default
  std::optional<std::int64_t> size;  // none: the kind's default
  std::optional<std::int64_t> min_count;
  std::string characters;                 // "2-4" or "none", of ngrams; empty: the default
  std::optional<std::int64_t> max_words;  // of ngrams

  // Returns the option --tokenizer.
  CLI::Option* add_to(CLI::App& command, const std::string& group);
  // Adds `size_name`, --min-count, --ngrams and --word-ngrams. options() gives their meaning for a kind; Error if the
  // kind has no such option.
  void add_sizes_to(CLI::App& command, const std::string& size_name, const std::string& group);
  weft::TokenizerOptions options(const std::string& kind, std::optional<weft::Task> task) const;
  // The tokenizer that --tokenizer names, learned from the texts or read from the file. `usual`: the kind if it names
  // none.
  std::shared_ptr<const weft::Tokenizer> make(const weft::Texts& texts, weft::Task task,
                                              const std::string& usual) const;
};

// The kinds that can be learned.
std::vector<std::string> learned_kinds();
// The default kind of weft tokenizer train: bpe if this build has it.
std::string usual_learned_kind();
// Error unless the kind can be learned.
void check_learned_kind(const std::string& kind);
// Whether it is not the name of a kind, and looks like a path or exists as a file.
bool names_tokenizer_file(const std::string& tokenizer);

// Registers the kinds of optional parts of this build.
void register_optional_tokenizers();
// Reads a file of weft tokenizer train, or a model of SentencePiece. Error, naming the file, if it is neither.
std::shared_ptr<const weft::Tokenizer> read_tokenizer(const std::string& path);
