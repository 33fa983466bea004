// Finds which columns of a table are the text and the label.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/labelled_texts.h"

namespace weft::detail {

using Rows = std::vector<std::vector<std::string>>;  // each has as many fields as the first

// Whether the first row names the columns.
bool has_header(const Rows& rows, const LabelledOptions& options);

struct RowColumns {
  std::size_t label;
  std::vector<std::size_t> text, second;
};
// Finds the columns among `count` columns, which may have names. Throws an Error that mentions --columns if the columns
// can't be detected.
RowColumns find_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                        const Rows& rows, const LabelledOptions& options);

// Finds the columns of texts to classify. A single column is the text. Otherwise these are the columns that
// options.text names. If it names none, these are the columns with common names of text columns. If the columns have no
// names, these are all columns except the label. The label of the result is meaningless. Throws an Error that mentions
// --columns if the columns can't be detected.
RowColumns find_text_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                             const Rows& rows, const LabelledOptions& options);

// Whether these fields include the columns that the options name. If the options name none, whether they include common
// names of both a text column and a label column.
bool are_names(const std::vector<std::string>& fields, const LabelledOptions& options);

// Returns the first column in which every field is one of these labels.
std::optional<std::size_t> label_column(const Rows& rows, const std::vector<std::string>& labels);

}  // namespace weft::detail
