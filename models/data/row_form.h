// How a file of labelled texts is written: what isn't said is found by its first rows.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/row_reader.h"
#include "weft/labelled_texts.h"

namespace weft::detail {

struct RowForm {
  DataFormat format = DataFormat::csv;  // not automatic, no folders
  Dialect dialect;                      // csv, tsv, semicolon
  bool header = false;
  std::size_t columns = 2;               // fields of each row
  std::vector<std::string> names;        // of the columns, if they have some; jsonl: the keys, the label's first
  std::optional<std::size_t> label = 0;  // which column; none: not wanted
  std::vector<std::size_t> text = {1};
};

// Error if it can't be told; the message names the option that says it.
RowForm find_form(const Content& content, const LabelledOptions& options);

// The same of texts to be classified, without a label; JSON's names are all keys. None if the lines are texts themselves.
// `ending`: that of the file's name, in lower case.
std::optional<RowForm> find_text_form(const Content& content, const std::string& ending,
                                      const LabelledOptions& options);

// All rows, also the header.
std::unique_ptr<RowReader> rows_of(const Content& content, const RowForm& form);

// "CSV without a header, label in column 1, text in columns 2 and 3"
std::string describe(const RowForm& form);

// The text's columns by their names, or by their numbers from 1; none of fastText's lines.
std::vector<std::string> text_columns(const RowForm& form);
// Fields that aren't empty, joined by blanks.
std::string text_of_row(const std::vector<std::string>& fields, const RowForm& form);
// Error unless the row has as many fields as the form.
void check_fields(RowReader& rows, const std::vector<std::string>& fields, const RowForm& form);

std::string trimmed(const std::string& text);

}  // namespace weft::detail
