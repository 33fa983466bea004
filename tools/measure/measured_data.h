// The options that choose the data on which a checkpoint is measured.
#pragma once
#include <weft/checkpoint.h>
#include <weft/trainer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options/data_options.h"

struct MeasuredData {
  std::string text, data;
  DataOptions data_options;
  std::optional<std::int64_t> seq_len;
  std::int64_t batch = 32;
  bool all = false;

  void add_to(CLI::App& command);
  // Whether data are given. Throws a UsageError if no data are given, but an option that describes data is given.
  bool given() const;
  // Loads the data. If they are labeled texts, prints to standard error how the file was read. `run` is the text of the
  // run.json of the checkpoint's run, or "". Throws an Error if the given data are not the kind that the checkpoint's
  // task needs.
  std::unique_ptr<weft::Data> load(const weft::Checkpoint& checkpoint, const std::string& run) const;
  // Returns a line that says which part of a text is measured, or "" if it is the whole text.
  std::string note(const std::string& run) const;
  // Returns "validation" if the data are a text and the run's split has no test set, else "test".
  const char* kind(const std::string& run) const;

 private:
  weft::TextSplit text_part(const std::string& run) const;

  std::vector<CLI::Option*> with_data_;
};

// Evaluates the model. On a terminal, shows the number of the current batch. If the loss is not finite, throws an Error
// that names `path`.
weft::Evaluation measure(const weft::Model& model, const weft::Data& data, const std::string& path);
