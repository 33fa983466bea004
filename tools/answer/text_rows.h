// The texts of a file, one after the other.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "options/data_options.h"

// Where a text is, for messages.
struct TextPlace {
  std::string file;
  const char* unit;     // "line", or "text" in a table
  std::int64_t number;  // from 1

  std::string name() const { return file + ": " + unit + " " + std::to_string(number); }
};

// UsageError for options of tables if the rows are none; null: each line is a text.
void check_options(const DataOptions& form, const weft::TextRows* rows, const std::string& file);

// Calls use(text, place) for each row of a file in one of the formats of training, or for each line. Error if the model
// of the checkpoint doesn't read such rows, or if options don't apply to them.
// `columns` are the text's columns if the form names none; if this is empty, too, they are detected. If it names a
// second text, or if the model reads pairs, a line holds both texts of a pair, separated by a tab.
void for_each_text(const std::string& file, const DataOptions& form, const TextColumns& columns,
                   const weft::Checkpoint& checkpoint,
                   const std::function<void(const std::string& text, const TextPlace& place)>& use);

// The pair of texts (weft::text_pair) that a line holds. Throws an Error unless the line has one tab, between the two.
std::string pair_of_line(const std::string& line);
