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
  static constexpr const char* group = "Model";  // of the help page

  std::string arch, recipe, config, task;
  std::optional<std::int64_t> layers, d_model, d_ffn, seq_len;
  std::optional<double> dropout;
  std::vector<std::string> set;  // KEY=VALUE

  void add_to(CLI::App& command);
  // The recipe's run.json, or what is in the config file; empty if neither is given. Error if it isn't a JSON object.
  std::string settings() const;
  // What messages call it.
  const std::string& settings_name() const { return recipe.empty() ? config : recipe; }
  // Architecture and sizes: those of settings(), replaced by those of the flags. The task: --task; else that of
  // settings(); else the architecture's usual one for `source`, if that is given; else its first. Vocabulary and classes
  // are those that a run of these settings had found, if they say so.
  // What settings() doesn't say is as in a model to begin with, if there is one; its task stays if it learns from
  // `source`.
  weft::ModelSpec spec(std::optional<weft::Source> source, const weft::Model* from = nullptr) const;
};

// The length of the sequences to train on: the config's seq_len; else the longest that the model takes, or 64.
std::int64_t usual_length(const weft::Model& model);

// A model whose parameters have shapes and no memory: to look at, of any size. Error for a config that makes none.
std::unique_ptr<weft::Model> outline(const weft::ModelSpec& spec);

// Error unless there is memory to train such a model.
void check_memory_to_train(const weft::Model& outline);

// A whole number from a config in JSON, or `otherwise` if it has no such field.
std::int64_t config_value(const std::string& config, const std::string& key, std::int64_t otherwise);
