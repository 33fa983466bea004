// Which of a table's columns are the text and the label.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/labelled_texts.h"

namespace weft::detail {

using Rows = std::vector<std::vector<std::string>>;  // each with as many fields as the first

// Whether the first of the rows names the columns.
bool has_header(const Rows& rows, const LabelledOptions& options);

struct RowColumns {
  std::size_t label;
  std::vector<std::size_t> text;
};
// Of `count` columns, which have names or don't. Error, naming --columns, if it can't be told.
RowColumns find_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                        const Rows& rows, const LabelledOptions& options);

// Of texts to be classified: the columns that options.text names, else the only one, else those with a text's names, else, without
// names, all but the label. Error, naming --columns, if it can't be told.
std::vector<std::size_t> find_text_columns(const std::string& where, const std::vector<std::string>& names,
                                           std::size_t count, const Rows& rows, const LabelledOptions& options);

// Whether these are the names of columns that are wanted or, if none are by name, of a text's and a label's.
bool are_names(const std::vector<std::string>& fields, const LabelledOptions& options);

// The column that has nothing but these labels.
std::optional<std::size_t> label_column(const Rows& rows, const std::vector<std::string>& labels);

}  // namespace weft::detail
