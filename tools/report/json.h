// The JSON data in the page of a report.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace report {

using Json = nlohmann::ordered_json;

// Returns the value rounded to six digits, which is more than the page can show, or null if the value is not finite.
Json number(double value);
Json numbers(const std::vector<double>& values);

// A matrix of numbers. NaN marks an empty cell.
struct Grid {
  std::size_t rows = 0, columns = 0;
  std::vector<double> cells;  // row by row

  double& at(std::size_t row, std::size_t column) { return cells[row * columns + column]; }
  double at(std::size_t row, std::size_t column) const { return cells[row * columns + column]; }
};
Grid grid(std::size_t rows, std::size_t columns, double value = 0);

// Encodes bytes in base64 (RFC 4648).
std::string base64(const std::vector<std::uint8_t>& bytes);

// Returns {"rows", "columns", "row_pool", "column_pool", "scale", "cells"}, which has at most 128 rows and columns.
// Each cell is the mean of row_pool × column_pool cells of `grid`. "cells" has 16-bit integers in base64, in units of
// scale / 32767, where -32768 marks an empty cell.
Json drawn_grid(const Grid& grid);

}  // namespace report
