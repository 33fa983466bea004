// The data that a checkpoint is measured on.
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
  DataOptions form;
  std::optional<std::int64_t> seq_len;
  std::int64_t batch = 32;
  bool all = false;

  void add_to(CLI::App& command);
  // UsageError for an option that says how they are measured, if they aren't given.
  bool given() const;
  // Says on standard error how labelled texts were read. `run` is the run.json of the checkpoint's run, or empty. Error unless
  // what the checkpoint's task needs is given.
  std::unique_ptr<weft::Data> load(const weft::Checkpoint& checkpoint, const std::string& run) const;
  // Which part of a text is measured; empty if all of it is.
  std::string note(const std::string& run) const;
  // "validation" if the data are a text whose run has no test part, else "test".
  const char* kind(const std::string& run) const;

 private:
  weft::TextSplit text_part(const std::string& run) const;

  std::vector<CLI::Option*> with_data_;
};

// What is measured, with the batches counted on a terminal. Error, naming `path`, if the loss is not finite.
weft::Evaluation measure(const weft::Model& model, const weft::Data& data, const std::string& path);
