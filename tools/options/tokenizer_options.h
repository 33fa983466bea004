// How a text becomes symbols.
#pragma once
#include <weft/tokenizer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct TokenizerChoice {
  std::string tokenizer;             // a kind or a file; empty: the usual one
  std::optional<std::int64_t> size;  // none: the kind's usual one
  std::optional<std::int64_t> min_count;

  // Gives --tokenizer.
  CLI::Option* add_to(CLI::App& command, const std::string& group);
  // --min-count and `size_name`, and what they mean to a kind; Error if it has no such option.
  void add_sizes_to(CLI::App& command, const std::string& size_name, const std::string& group);
  weft::TokenizerOptions options(const std::string& kind, std::optional<weft::Task> task) const;
  // What --tokenizer names: learned from the texts, or read from the file. `usual`: the kind if it names none.
  std::shared_ptr<const weft::Tokenizer> make(const weft::Texts& texts, weft::Task task,
                                              const std::string& usual) const;
};

// Kinds that can be learned.
std::vector<std::string> learned_kinds();
// The one of weft tokenizer train if none is said: bpe where it is there.
std::string usual_learned_kind();
// Error unless it is one.
void check_learned_kind(const std::string& kind);
// Whether it isn't a kind's name, and a path or there.
bool names_tokenizer_file(const std::string& tokenizer);

// Adds the kinds of optional parts of this build.
void register_optional_tokenizers();
// What weft tokenizer train wrote, or a model of SentencePiece. Error, naming the file, unless it is one.
std::shared_ptr<const weft::Tokenizer> read_tokenizer(const std::string& path);
