#include "train/long_rows.h"

#include <weft/context.h>
#include <weft/sound.h>

#include <algorithm>
#include <atomic>

#include "options/data_options.h"
#include "train/train_steps.h"

namespace {

// Returns the maximum length of the rows that a trained model reads, or 0 if there is none.
std::int64_t longest_for(const weft::Checkpoint& checkpoint) {
  if (checkpoint.info.pad_to > 0) return checkpoint.info.pad_to;
  if (checkpoint.info.length > 0) return checkpoint.info.length;
  return std::max<std::int64_t>(checkpoint.model->max_length(), 0);
}

}  // namespace

LongRows::LongRows(const weft::Checkpoint& checkpoint) : LongRows(row_task(checkpoint), longest_for(checkpoint)) {}

void LongRows::add(const std::vector<std::string>& rows) {
  all_ += std::ssize(rows);
  if (longest_ == 0 || task_.input.is_picture()) return;
  std::atomic<std::int64_t> found = 0;
  weft::Context::current().parallel_for(std::ssize(rows), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) found += is_long(rows[static_cast<std::size_t>(i)]);
  });
  long_ += found;
}

void LongRows::add_read(const std::vector<std::string>& rows, std::int64_t truncated) {
  if (task_.input.defined()) return add(rows);
  all_ += std::ssize(rows);
  long_ = truncated;
}

void LongRows::add(const weft::LabeledTexts& rows) {
  add(rows.texts);
  if (task_.targets.task != weft::Task::retrieval) return;
  std::vector<std::string> labels;
  for (const std::int64_t label : rows.labels) labels.push_back(rows.names[static_cast<std::size_t>(label)]);
  add(labels);
}

std::string LongRows::note(const std::string& set) const {
  if (long_ == 0) return "";
  const char* rows = task_.input.sound.defined() ? "sounds" : task_.input.defined() ? "rows" : "texts";
  return rows + (" of " + set) + " with more than " + grouped(longest_) +
         (task_.input.defined() ? " frames" : " tokens") + ", which are truncated: " + grouped(long_) + " of " +
         grouped(all_);
}

// A tagger reads only the words. Every other model of texts also reads the symbols at the ends of a row.
bool LongRows::is_long(const std::string& row) const {
  const weft::InputSpec& input = task_.input;
  if (input.sound.defined())
    return weft::frames_of_sound(std::ssize(weft::read_wav(row).samples), input.sound) > longest_;
  if (input.defined()) return std::ssize(row) / (input.channels * std::int64_t{sizeof(float)}) > longest_;
  if (task_.targets.task == weft::Task::tagging) return std::ssize(task_.tokenizer->encode(row)) > longest_;
  return weft::encode_rows(*task_.tokenizer, {row}).size(1) > longest_;
}

std::string long_rows_note(const weft::LabeledTexts& rows, const weft::RowTask& task, std::int64_t longest,
                           const std::string& set) {
  LongRows long_rows(task, longest);
  long_rows.add(rows);
  return long_rows.note(set);
}
