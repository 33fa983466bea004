// Measures on sequences how the layers of FNet mix tokens.
#include <weft/fnet.h>
#include <weft/ops.h>

#include <algorithm>
#include <cmath>

#include "report/learned.h"

namespace report {
namespace {

using weft::Tensor;

constexpr std::int64_t most_replaced = 64;  // maximum number of replaced inputs; each takes a forward pass of the layer

std::vector<double> values_of(const Tensor& tensor) {
  return weft::raw::convert(tensor, weft::DType::f64).to_vector<double>();
}

double squares(const Tensor& x) {
  double sum = 0;
  for (const double v : values_of(x)) sum += v * v;
  return sum;
}

double share(const Tensor& part, const Tensor& other) {
  const double p = squares(part), o = squares(other);
  return p + o > 0 ? p / (p + o) : 0;
}

// The terms of the two sums in a layer with input x, according to FnetLayer's formulas.
struct Sums {
  Tensor mixed;    // mix(x), or mix(mixing_norm(x))
  Tensor middle;   // the tensor to which the network's output is added
  Tensor network;  // ffn(middle), or ffn(output_norm(middle))
};
Sums sums_of(const weft::FnetLayer& layer, const Tensor& x) {
  const auto network = [&](const Tensor& v) { return layer.proj2(layer.proj1(v, layer.activation)); };
  if (layer.place == weft::NormPlace::post) {
    const Tensor mixed = weft::fourier_mix(x, 1, 2), middle = layer.mixing_norm(weft::add(x, mixed));
    return {mixed, middle, network(middle)};
  }
  const Tensor mixed = weft::fourier_mix(layer.mixing_norm(x), 1, 2), middle = weft::add(x, mixed);
  return {mixed, middle, network(layer.output_norm(middle))};
}

// Returns the share of each frequency k = 0 … n/2 in the sum of squares of the mixing's output. Frequency k is at
// positions k and n - k of the output, whose squares are equal.
std::vector<double> by_frequency(const Tensor& mixed) {
  const auto n = static_cast<std::size_t>(mixed.size(1)), d = static_cast<std::size_t>(mixed.size(2));
  const std::vector<double> m = values_of(mixed);
  std::vector<double> parts(n / 2 + 1);
  double all = 0;
  for (std::size_t i = 0; i < m.size(); ++i) {
    const std::size_t k = i / d % n;
    if (k < parts.size()) parts[k] += m[i] * m[i];
    all += m[i] * m[i];
  }
  for (double& part : parts) part /= all;
  return parts;
}

// Returns x (b, n, d), where position j is replaced with the mean over all positions.
Tensor replaced(const std::vector<double>& x, const weft::Shape& shape, std::size_t j, weft::DType dtype) {
  const auto n = static_cast<std::size_t>(shape[1]), d = static_cast<std::size_t>(shape[2]);
  std::vector<double> changed = x;
  for (std::size_t b = 0; b < x.size() / (n * d); ++b)
    for (std::size_t c = 0; c < d; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += x[(b * n + i) * d + c];
      changed[(b * n + j) * d + c] = sum / static_cast<double>(n);
    }
  return weft::raw::convert(Tensor::from(changed, shape), dtype);
}

// The element in row i and column j is √(Σ (y_i' - y_i)² / Σ y_i²), where y' is the output if input j is replaced. For
// long sequences, the columns are evenly spaced inputs.
Grid influence(const weft::FnetLayer& layer, const Tensor& x, const Tensor& y) {
  const auto n = static_cast<std::size_t>(x.size(1)), d = static_cast<std::size_t>(x.size(2));
  const std::size_t columns = std::min(n, static_cast<std::size_t>(most_replaced));
  const std::vector<double> in = values_of(x), out = values_of(y);
  Grid change = grid(n, columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::vector<double> now = values_of(layer(replaced(in, x.shape(), column * n / columns, x.dtype())));
    std::vector<double> moved(n), whole(n);
    for (std::size_t i = 0; i < now.size(); ++i) {
      moved[i / d % n] += (now[i] - out[i]) * (now[i] - out[i]);
      whole[i / d % n] += out[i] * out[i];
    }
    for (std::size_t i = 0; i < n; ++i) change.at(i, column) = whole[i] > 0 ? std::sqrt(moved[i] / whole[i]) : 0;
  }
  return change;
}

}  // namespace

Json learned_mixing(const weft::Model& model, const weft::ModelInput& input) {
  const auto* fnet = dynamic_cast<const weft::Fnet*>(&model);
  if (fnet == nullptr) return nullptr;
  Json layers = Json::array();
  Tensor x = fnet->encoder().embed(input);
  for (const weft::FnetLayer& layer : fnet->encoder().layers) {
    const Sums sums = sums_of(layer, x);
    const Tensor y = layer(x);
    layers.push_back({{"mixing_share", number(share(sums.mixed, x))},
                      {"network_share", number(share(sums.network, sums.middle))},
                      {"by_frequency", numbers(by_frequency(sums.mixed))},
                      {"influence", drawn_grid(influence(layer, x, y))}});
    x = y;
  }
  return {{"kind", "fourier"}, {"length", x.size(1)}, {"sequences", x.size(0)}, {"layers", layers}};
}

}  // namespace report
