// The format of a file of labeled texts. Options that are not given are detected from the first rows.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rows/row_reader.h"
#include "weft/labeled_texts.h"

namespace weft::detail {

struct RowFormat {
  DataFormat kind = DataFormat::csv;  // neither automatic nor folders
  Dialect dialect;                    // csv, tsv, semicolon
  bool header = false;
  std::size_t columns = 2;               // fields of each row
  std::vector<std::string> names;        // names of the columns, if any; jsonl: the keys, the label's first
  std::optional<std::size_t> label = 0;  // the label's column; none: no label is needed
  std::vector<std::size_t> text = {1};
  std::vector<std::size_t> second = {};  // the columns of a pair's second text
  ConllColumns conll;                    // columns of a conll file; `label` and `text` are fields of conll_rows
};

// Returns the format of a file. If the format can't be detected, throws an Error that names the option that sets it.
RowFormat find_format(const Content& content, const LabeledOptions& options);

// Does the same as find_format for texts to classify, which have no label. For JSON, the names are all keys. Returns
// none if each line is a text. `ending` is the extension of the file's name, in lower case.
std::optional<RowFormat> find_text_format(const Content& content, const std::string& ending,
                                          const LabeledOptions& options);

// Reads all rows, including the header.
std::unique_ptr<RowReader> rows_of(const Content& content, const RowFormat& format);

// "CSV without a header, label in column 1, text in columns 2 and 3"
std::string describe(const RowFormat& format);

// Returns the names of some columns or, if the columns have no names, their numbers, counted from 1. Returns no names
// for fastText and CoNLL.
std::vector<std::string> names_of(const RowFormat& format, const std::vector<std::size_t>& some);
// Returns the row's text: the nonempty fields of the text columns, joined by blanks. If there are columns for a second
// text, returns a text_pair.
std::string text_of_row(const std::vector<std::string>& fields, const RowFormat& format);
// Throws an Error unless the row has format.columns fields.
void check_fields(RowReader& rows, const std::vector<std::string>& fields, const RowFormat& format);

std::string trimmed(const std::string& text);

}  // namespace weft::detail
