// Which of a table's columns are the text and the label.
#pragma once
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

}  // namespace weft::detail
