// How a text becomes symbols.
#pragma once
#include <weft/tokenizer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

struct TokenizerChoice {
  std::string tokenizer;             // a kind or a file; empty: the usual one
  std::optional<std::int64_t> size;  // none: the kind's usual one
  std::int64_t min_count = 2;

  void add_to(CLI::App& command, const std::string& group);
  // What --tokenizer names: learned from the texts, or read from the file. `usual`: the kind if it names none.
  std::shared_ptr<const weft::Tokenizer> make(const weft::Texts& texts, weft::Task task,
                                              const std::string& usual) const;
};

// Adds the kinds of optional parts of this build.
void register_optional_tokenizers();
// What weft tokenizer train wrote, or a model of SentencePiece. Error, naming the file, unless it is one.
std::shared_ptr<const weft::Tokenizer> read_tokenizer(const std::string& path);
