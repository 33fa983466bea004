// Options that say how labeled texts are read.
#pragma once
#include <weft/checkpoint.h>
#include <weft/labelled_texts.h>
#include <weft/task.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

struct DataOptions {
  std::string format = "auto", header = "auto", columns;
  bool literal_quotes = false, skip_bad_rows = false;

  // data: the option that names the data.
  void add_to(CLI::App& command, CLI::Option* data);
  // The first given option that only tables have, such as "--columns"; null if none is given.
  const char* of_tables() const;
  // The first given option; null if none is given.
  const char* given() const;
  // labels: the labels that a model knows; empty: the labels that occur.
  weft::LabelledOptions labelled(const std::vector<std::string>& labels = {}) const;
  // For a task, whose labels are only known names if it is a classifier.
  weft::LabelledOptions labelled(weft::Task task, const std::vector<std::string>& labels) const;
};

// The columns of texts, by name or by number from 1.
struct TextColumns {
  std::vector<std::string> text;
  std::vector<std::string> second = {};  // of pairs
};

// The text columns of the run that run.json describes.
TextColumns columns_of_run(const std::string& run);
// Sets the columns of the first and of the second text unless the options name them.
void set_text_columns(const TextColumns& columns, weft::LabelledOptions& options);

// UsageError if the checkpoint's model reads pairs of texts, but the options name no column for the second text.
void check_second_columns(const weft::LabelledOptions& options, const weft::Checkpoint& checkpoint,
                          const std::string& file);

bool is_empty(const std::string& text);  // nothing but white space
// "60 rows; 2 with an empty text; 1 bad row skipped"
std::string describe_count(std::int64_t rows, std::int64_t empty, std::int64_t skipped);

// "FILE: CSV without a header, …; 120000 rows, 4 labels: …", for standard error.
std::string describe(const std::string& path, const weft::LabelledTexts& texts);
// Throws an Error unless the model reads such rows.
void check_content(weft::RowContent content, const weft::Checkpoint& checkpoint, const std::string& path);
