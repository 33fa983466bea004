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
  // Returns the recipe's run.json, or the content of the config file, or "" if neither is given. Throws an Error if it
  // isn't a JSON object.
  std::string settings() const;
  // Returns the name of the recipe or of the config file, for messages.
  const std::string& settings_name() const { return recipe.empty() ? config : recipe; }
  // The architecture and the sizes come from settings(), and options override them. The task is the value of --task. If
  // --task isn't given, the task is that of settings(), or the architecture's default for `source`, or, if there is no
  // `source`, the architecture's first task. The vocabulary, the classes and the input are those that settings()
  // records, if it is a run.json.
  // If the model `from` is given, it provides everything that settings() does not have. The new model has the task of
  // `from` if this task learns from `source`.
  weft::ModelSpec spec(std::optional<weft::Source> source, const weft::Model* from = nullptr) const;
  // Whether the length of the sequences is the default, because no option sets it and settings() is empty.
  bool has_usual_length() const;
};

// Sets the length of the sequences, if the architecture's config has it.
void set_length(weft::ModelSpec& spec, std::int64_t length);

// Returns the length of the training sequences. This is the config's seq_len, or else the model's maximum length, or
// else 64.
std::int64_t usual_length(const weft::Model& model);

// Makes a model whose parameters have shapes but no memory, so that models of any size can be inspected. Throws an
// Error for an invalid config.
std::unique_ptr<weft::Model> outline(const weft::ModelSpec& spec);

// Throws an Error if this machine has too little memory to train the model.
void check_memory_to_train(const weft::Model& outline);

// Returns an integer field of a config, which is JSON text, or `otherwise` if the config has no such field.
std::int64_t config_value(const std::string& config, const std::string& key, std::int64_t otherwise);
