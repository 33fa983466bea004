// Reads the texts of a file one after the other.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "options/data_options.h"

// The place of a text in its file, for messages.
struct TextPlace {
  std::string file;
  const char* unit;     // "line", or "text" for a row of a table
  std::int64_t number;  // the first is 1

  std::string name() const { return file + ": " + unit + " " + std::to_string(number); }
};

// Opens the texts of a file, or of the standard input if it is "-". Returns null if each line is a text. Throws an Error
// if the checkpoint's model can't read such rows, and a UsageError if `given` has options that don't apply to them.
std::unique_ptr<weft::TextRows> open_texts(const std::string& file, const DataOptions& given,
                                           const weft::LabeledOptions& options, const weft::Checkpoint& checkpoint);

// Calls use(text, place) for each row of a file in one of the formats of labeled texts, or for each line of any other
// file. Throws an Error if the checkpoint's model can't read such rows, or if `data_options` has options that don't
// apply to such a file.
// `columns` names the text columns if `data_options` doesn't. If neither names them, they are detected. If `columns`
// names a second text, or if the model reads pairs, each line contains both texts of a pair, separated by a tab.
void for_each_text(const std::string& file, const DataOptions& data_options, const TextColumns& columns,
                   const weft::Checkpoint& checkpoint,
                   const std::function<void(const std::string& text, const TextPlace& place)>& use);

// Returns the pair of texts (see weft::text_pair) in a line. Throws an Error unless the line has exactly one tab, which
// separates the two.
std::string pair_of_line(const std::string& line);
