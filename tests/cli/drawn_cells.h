// Decodes the cells of a grid of report::drawn_grid in the same way as the page. Empty cells are NaN.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "report/json.h"

namespace weft::test {

inline std::vector<double> drawn_cells(const report::Json& grid) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int have = 0;
  for (const char c : grid["cells"].get<std::string>()) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    if ((have += 6) >= 8) bytes += static_cast<char>(bits >> (have -= 8) & 255);
  }
  std::vector<double> values;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const int low = static_cast<unsigned char>(bytes[i]), value = low | static_cast<signed char>(bytes[i + 1]) * 256;
    values.push_back(value == -32768 ? std::nan("") : value / 32767.0 * grid["scale"].get<double>());
  }
  return values;
}

}  // namespace weft::test
