// The options that choose an architecture and its sizes.
#pragma once
#include <weft/architecture.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct ModelOptions {
  static constexpr const char* group = "Model";  // section of the help page

  std::string arch, recipe, config, task;
  std::optional<std::int64_t> layers, d_model, d_ffn, seq_len;
  std::optional<double> dropout;
  std::vector<std::string> set;  // KEY=VALUE

  void add_to(CLI::App& command);
  // The recipe's run.json, or the content of the config file; empty if neither is given. Error if it isn't a JSON
  // object.
  std::string settings() const;
  // The name of the settings in messages.
  const std::string& settings_name() const { return recipe.empty() ? config : recipe; }
  // Architecture and sizes come from settings(), overridden by the flags. The task is --task; else that of settings();
  // else the architecture's default for `source`, if that is given; else its first. Vocabulary and classes are those
  // that a run with these settings found, if they are recorded.
  // What settings() doesn't say is taken from the model `from`, if there is one. Its task is kept if it learns from
  // `source`.
  weft::ModelSpec spec(std::optional<weft::Source> source, const weft::Model* from = nullptr) const;
  // Whether neither a flag nor settings() give the length of the sequences.
  bool has_usual_length() const;
};

// Sets the length of the sequences, if the architecture's config has it.
void set_length(weft::ModelSpec& spec, std::int64_t length);

// The length of the training sequences: the config's seq_len; else the model's maximum length, or 64.
std::int64_t usual_length(const weft::Model& model);

// A model whose parameters have shapes but no memory, to inspect models of any size. Error for an invalid config.
std::unique_ptr<weft::Model> outline(const weft::ModelSpec& spec);

// Error if this machine has too little memory to train the model.
void check_memory_to_train(const weft::Model& outline);

// A whole number from a config in JSON, or `otherwise` if it has no such field.
std::int64_t config_value(const std::string& config, const std::string& key, std::int64_t otherwise);
