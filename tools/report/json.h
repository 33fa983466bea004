// The JSON that a report's page reads.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

namespace report {

using Json = nlohmann::ordered_json;

// Six digits, which is more than can be seen; null if it is not finite.
Json number(double value);
Json numbers(const std::vector<double>& values);

// A matrix of numbers; NaN: a cell that has none.
struct Grid {
  std::size_t rows = 0, columns = 0;
  std::vector<double> cells;  // row by row

  double& at(std::size_t row, std::size_t column) { return cells[row * columns + column]; }
  double at(std::size_t row, std::size_t column) const { return cells[row * columns + column]; }
};
Grid grid(std::size_t rows, std::size_t columns, double value = 0);

// At most 128 rows and columns, each cell the mean of `pool` as many: {"rows", "columns", "row_pool", "column_pool",
// "scale", "cells"}, where cells are base64 of 16 bits each, in parts of 32767 of scale; -32768 is none.
Json drawn_grid(const Grid& grid);

}  // namespace report
