// The options that determine how texts are tokenized.
#pragma once
#include <weft/tokenizer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct TokenizerChoice {
  std::string tokenizer;             // a kind of tokenizer, or a file; empty for the default
  std::optional<std::int64_t> size;  // without a value, the kind's default
  std::optional<std::int64_t> min_count;
  std::string characters;                 // for ngrams: "2-4" or "none"; empty for the default
  std::optional<std::int64_t> max_words;  // for ngrams

  // Returns the option --tokenizer.
  CLI::Option* add_to(CLI::App& command, const std::string& group);
  // Adds the options `size_name`, --min-count, --ngrams and --word-ngrams.
  void add_sizes_to(CLI::App& command, const std::string& size_name, const std::string& group);
  // Returns these options for a kind. Throws a UsageError if an option is given that the kind doesn't have.
  weft::TokenizerOptions options(const std::string& kind, std::optional<weft::Task> task) const;
  // Returns the tokenizer that --tokenizer names. If it names a kind, the tokenizer is learned from the texts. If it
  // names a file, the tokenizer is read from the file. If --tokenizer isn't given, the kind is `usual`.
  std::shared_ptr<const weft::Tokenizer> make(const weft::Texts& texts, weft::Task task,
                                              const std::string& usual) const;
};

// Returns the kinds that can be learned from texts.
std::vector<std::string> learned_kinds();
// Returns the default kind of weft tokenizer train, which is bpe if this build has it, and otherwise words.
std::string usual_learned_kind();
// Throws an Error if the kind can't be learned.
void check_learned_kind(const std::string& kind);
// Whether the text is not the name of a kind, and either looks like a path or is the name of an existing file.
bool names_tokenizer_file(const std::string& tokenizer);

// Registers the kinds of tokenizers that optional parts of this build add.
void register_optional_tokenizers();
// Reads a file that weft tokenizer train wrote, or a SentencePiece model. Throws an Error that names the file if it is
// neither.
std::shared_ptr<const weft::Tokenizer> read_tokenizer(const std::string& path);
