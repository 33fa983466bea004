// Finds the columns of a table that contain the text and the label.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/labeled_texts.h"

namespace weft::detail {

using Rows = std::vector<std::vector<std::string>>;  // each row has as many fields as the first row

// Whether the first row names the columns.
bool has_header(const Rows& rows, const LabeledOptions& options);

struct RowColumns {
  std::size_t label;
  std::vector<std::size_t> text, second;
};
// Finds the columns among `count` columns, which may have names. Throws an Error that mentions --columns if the columns
// can't be detected.
RowColumns find_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                        const Rows& rows, const LabeledOptions& options);

// Finds the columns of texts to classify. If there is a single column, it is the text. Otherwise the text consists of
// the columns that options.text names. If it names none, the text consists of the columns with common names of text
// columns. If the columns have no names, the text consists of all columns except the label. The label of the result is
// meaningless. Throws an Error that mentions --columns if the columns can't be detected.
RowColumns find_text_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                             const Rows& rows, const LabeledOptions& options);

// Whether the fields include the column names given in the options. If the options give no names, returns whether the
// fields include common names of both a text column and a label column.
bool are_names(const std::vector<std::string>& fields, const LabeledOptions& options);

// Returns the first column in which every field is one of these labels.
std::optional<std::size_t> label_column(const Rows& rows, const std::vector<std::string>& labels);

}  // namespace weft::detail
