#include "train/divided_rows.h"

#include <weft/error.h>
#include <weft/split.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "console/number.h"
#include "console/report.h"
#include "console/visible.h"
#include "train/train_steps.h"

namespace {

using weft::LabeledTexts;

std::string rows_of(const LabeledTexts& texts) { return grouped(std::ssize(texts.texts)); }

// Describes a part of the rows: "412 of 4,120 rows, stratified by label, with seed 0".
std::string drawn(const LabeledTexts& part, const LabeledTexts& rest, const TrainOptions& o) {
  return rows_of(part) + " of " + grouped(std::ssize(part.texts) + std::ssize(rest.texts)) +
         " rows, stratified by label, with seed " + std::to_string(o.split_seed);
}

// Reads a separate file of rows, with the labels of training.
LabeledTexts read_part(const std::string& path, const TrainOptions& o, weft::Task task, DividedRows& rows) {
  LabeledTexts part = weft::read_labeled(path, o.data_options.labeled(task, rows.training.names));
  rows.notes.push_back(describe(path, part));
  if (part.content() == rows.training.content())
    check_picture_size(part.picture, rows.training.picture.height, rows.training.picture.width, path);
  return part;
}

void divide_validation(const TrainOptions& o, weft::Task task, DividedRows& rows) {
  std::string how;
  if (o.validation == every_tenth_row) {
    rows.validation = weft::every_tenth(rows.training);
    how = rows_of(rows.validation) + " rows, every tenth one, as when this run began";
  } else if (is_share(o.validation)) {
    rows.validation = weft::hold_out(rows.training, *parse_decimal<double>(o.validation), o.split_seed);
    how = drawn(rows.validation, rows.training, o);
  } else {
    rows.validation = read_part(o.validation, o, task, rows);
    how = rows_of(rows.validation) + " rows of " + o.validation;
  }
  rows.notes.push_back("validation: " + how);
}

void divide_test(const TrainOptions& o, weft::Task task, DividedRows& rows) {
  if (o.fold) {
    rows.test = weft::take_fold(rows.training, *o.fold, o.folds, o.split_seed);
    rows.notes.push_back("test: fold " + std::to_string(*o.fold + 1) + " of " + std::to_string(o.folds) + ", " +
                         drawn(rows.test, rows.training, o));
  } else if (!o.test.empty()) {
    rows.test = read_part(o.test, o, task, rows);
    rows.notes.push_back("test: " + rows_of(rows.test) + " rows of " + o.test + ", measured once, at the end");
  }
}

void note_absent(const char* part, const LabeledTexts& texts, std::vector<std::string>& notes) {
  const std::vector<std::string> absent = weft::absent_labels(texts);
  if (absent.empty() || texts.texts.empty()) return;
  notes.push_back(std::string("labels without rows in ") + part + ": " + grouped(std::ssize(absent)) + " of " +
                  grouped(std::ssize(texts.names)) + " (" + some_labels(absent) + ")");
}

// Adds a note that says how many texts of the part also occur in the training set. The model may have memorized these
// texts, so they say nothing about new texts.
void note_known(const char* part, const LabeledTexts& texts, const LabeledTexts& training,
                std::vector<std::string>& notes) {
  const std::unordered_set<std::string_view> known(training.texts.begin(), training.texts.end());
  const auto count = std::count_if(texts.texts.begin(), texts.texts.end(),
                                   [&](const std::string& text) { return known.count(text) > 0; });
  if (count > 0)
    notes.push_back(std::string("rows of ") + part + " whose text also occurs in the training set: " + grouped(count) +
                    " of " + rows_of(texts));
}

}  // namespace

DividedRows divided_rows(const TrainOptions& o, weft::Task task, const std::vector<std::string>& labels) {
  const bool are_classes = task == weft::Task::classifier;
  DividedRows rows;
  rows.training = weft::read_labeled(o.data, o.data_options.labeled(task, labels));
  if (are_classes && rows.training.names.size() < 2)
    throw weft::Error(
        "\"" + o.data + "\": all rows have the label \"" + rows.training.names[0] +
        "\"; a classifier needs at least two labels (--columns label=NAME names the column of the labels)");
  rows.notes.push_back(describe(o.data, rows.training));
  divide_test(o, task, rows);
  divide_validation(o, task, rows);
  if (are_classes) {
    note_absent("the training set", rows.training, rows.notes);
    note_absent("the validation set", rows.validation, rows.notes);
    note_absent("the test set", rows.test, rows.notes);
  }
  note_known("the validation set", rows.validation, rows.training, rows.notes);
  note_known("the test set", rows.test, rows.training, rows.notes);
  return rows;
}

std::string some_labels(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) some.push_back(visible(names[i]));
  return list(some) + (names.size() > most ? " and " + grouped(std::ssize(names) - std::ssize(some)) + " more" : "");
}
