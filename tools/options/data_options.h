// The options that determine how labeled texts are read.
#pragma once
#include <weft/checkpoint.h>
#include <weft/labeled_texts.h>
#include <weft/task_data.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

struct DataOptions {
  std::string format = "auto", header = "auto", columns;
  bool literal_quotes = false, skip_bad_rows = false;

  // `data` is the option that names the data file.
  void add_to(CLI::App& command, CLI::Option* data);
  // Returns the first given option that applies only to tables, such as "--columns", or null if no such option is
  // given.
  const char* of_tables() const;
  // Returns the first of these options that is given, or null if none is given.
  const char* given() const;
  // `labels` are the labels that a model knows. If it is empty, the labels that occur in the data are used.
  weft::LabeledOptions labeled(const std::vector<std::string>& labels = {}) const;
  // Returns the same options for a task. Only a classifier uses `labels`.
  weft::LabeledOptions labeled(weft::Task task, const std::vector<std::string>& labels) const;
};

// The columns of texts. Each is given by its name or by its number, starting at 1.
struct TextColumns {
  std::vector<std::string> text;
  std::vector<std::string> second = {};  // columns of the second text of a pair
};

// Returns the text columns of a run. `run` is the text of its run.json.
TextColumns columns_of_run(const std::string& run);
// Sets the columns of the first and of the second text, unless `options` already has them.
void set_text_columns(const TextColumns& columns, weft::LabeledOptions& options);

// Throws a UsageError if the checkpoint's model reads pairs of texts, but the options name no column for the second
// text.
void check_second_columns(const weft::LabeledOptions& options, const weft::Checkpoint& checkpoint,
                          const std::string& file);

bool is_empty(const std::string& text);  // whether the text has only white space
// Describes a number of rows: "60 rows; 2 with an empty text; 1 bad row skipped".
std::string describe_count(std::int64_t rows, std::int64_t empty, std::int64_t skipped);

// Describes how a file was read: "FILE: CSV without a header, …; 120000 rows, 4 labels: …".
std::string describe(const std::string& path, const weft::LabeledTexts& texts);
// Returns what the checkpoint's model reads from rows, and what it predicts.
weft::RowTask row_task(const weft::Checkpoint& checkpoint);
// Returns how rows were padded when the checkpoint's model was trained.
weft::Padding padding_of(const weft::Checkpoint& checkpoint);
// Throws an Error if the model doesn't read rows with such content.
void check_content(weft::RowContent content, const weft::Checkpoint& checkpoint, const std::string& path);
// Throws an Error unless the pictures have the expected height and width. Does nothing if the rows are not pictures.
void check_picture_size(const weft::PictureSize& size, std::int64_t height, std::int64_t width,
                        const std::string& path);
