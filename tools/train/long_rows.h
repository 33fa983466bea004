// Counts the rows of a data set that are longer than the sequences of a model, which truncates them.
#pragma once
#include <weft/checkpoint.h>
#include <weft/task_data.h>

#include <cstdint>
#include <string>
#include <vector>

class LongRows {
 public:
  // `longest` is the maximum number of tokens or frames in a sequence; 0: no limit.
  LongRows(weft::RowTask task, std::int64_t longest) : task_(std::move(task)), longest_(longest) {}
  // For rows that the checkpoint's model reads.
  explicit LongRows(const weft::Checkpoint& checkpoint);

  // Adds rows. Encodes texts to count their tokens.
  void add(const std::vector<std::string>& rows);
  // Adds rows that a Classifier, Predictor or Embedder has read. `truncated` is the number of texts that it has truncated
  // so far, so texts need not be encoded again.
  void add_read(const std::vector<std::string>& rows, std::int64_t truncated);
  // For the task retrieval, the labels are texts, too.
  void add(const weft::LabeledTexts& rows);
  // Returns "texts of SET with more than 256 tokens, which are truncated: 12 of 6,000", or "" if no row is too long.
  std::string note(const std::string& set) const;

 private:
  bool is_long(const std::string& row) const;

  weft::RowTask task_;
  std::int64_t longest_, long_ = 0, all_ = 0;
};

// Returns the note on all rows of a set.
std::string long_rows_note(const weft::LabeledTexts& rows, const weft::RowTask& task, std::int64_t longest,
                           const std::string& set);
