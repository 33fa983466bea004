#include "report/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace report {
namespace {

constexpr std::size_t most_shown = 128;  // rows, and columns, on a page

// Returns the mean of the finite cells in a block of the grid, or NaN if there are none.
double pooled(const Grid& grid, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
  double sum = 0, count = 0;
  for (std::size_t i = row; i < std::min(row + rows, grid.rows); ++i)
    for (std::size_t j = column; j < std::min(column + columns, grid.columns); ++j)
      if (std::isfinite(grid.at(i, j))) {
        sum += grid.at(i, j);
        ++count;
      }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string base64(const std::vector<std::uint8_t>& bytes) {
  const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (std::floor(value) == value && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values) all.push_back(number(value));
  return all;
}

Grid grid(std::size_t rows, std::size_t columns, double value) {
  return {rows, columns, std::vector<double>(rows * columns, value)};
}

Json drawn_grid(const Grid& whole) {
  const std::size_t row_pool = (whole.rows + most_shown - 1) / most_shown,
                    column_pool = (whole.columns + most_shown - 1) / most_shown;
  const std::size_t rows = (whole.rows + row_pool - 1) / row_pool;
  const std::size_t columns = (whole.columns + column_pool - 1) / column_pool;
  Grid small = grid(rows, columns);
  double scale = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const double cell = pooled(whole, i * row_pool, row_pool, j * column_pool, column_pool);
      small.at(i, j) = cell;
      if (std::isfinite(cell)) scale = std::max(scale, std::abs(cell));
    }
  std::vector<std::uint8_t> bytes;
  for (const double cell : small.cells) {
    const double part = scale > 0 ? cell / scale : 0 * cell;
    const int value = std::isfinite(part) ? static_cast<int>(std::lround(part * 32767)) : -32768;
    const auto bits = static_cast<std::uint16_t>(value);
    bytes.push_back(static_cast<std::uint8_t>(bits & 255));
    bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
  }
  return {{"rows", rows},           {"columns", columns},    {"row_pool", row_pool}, {"column_pool", column_pool},
          {"scale", number(scale)}, {"cells", base64(bytes)}};
}

}  // namespace report
