#include "formats/labml.h"

#include <algorithm>
#include <cmath>

#include "base/sequence.h"
#include "weft/ops.h"

namespace weft::detail::labml {

void check_positions(const SafetensorsFile& file, std::int64_t d_model, const std::string& model) {
  if (!file.contains(position_table)) return;
  const Tensor table = file.load(position_table);
  if (!is_floating(table.dtype()) || table.rank() != 3 || table.size(1) != 1 || table.size(2) != d_model ||
      numel(table.shape()) == 0)
    throw Error("\"" + file.path() + "\": " + position_table + " is " + file.stored_dtype(position_table) +
                " of the shape " + to_string(table.shape()) +
                ", expected floating-point numbers of the shape (rows, 1, " + std::to_string(d_model) + ")");
  const Tensor ours = sinusoidal_positions(table.size(0), d_model, DType::f64);
  const auto a = raw::convert(table, DType::f64).to_vector<double>(), b = ours.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) < 1e-3))  // labml-nn computes the angles in f32
      throw Error("\"" + file.path() + "\": " + position_table + " has learned positions, but weft's " + model +
                  " supports only sinusoidal positions");
}

std::pair<std::string, Tensor> positions(std::int64_t length, std::int64_t d_model) {
  const std::int64_t rows = std::max(usual_positions, length);
  return {position_table, reshape(sinusoidal_positions(rows, d_model, DType::f32), {rows, 1, d_model})};
}

}  // namespace weft::detail::labml
