#include "report/learned.h"

#include <weft/gmlp.h>
#include <weft/tnn.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace report {
namespace {

constexpr std::int64_t most_lags = 2048;    // maximum number of lags if the coefficients don't depend on the length
constexpr std::size_t most_points = 256;    // maximum number of points of a curve over lags
constexpr std::size_t most_channels = 128;  // maximum number of channels that are shown
constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::vector<double> values_of(const weft::Tensor& tensor) {
  return weft::raw::convert(tensor, weft::DType::f64).to_vector<double>();
}

// Returns W (n, n) for the first n tokens. Cells that a causal mask excludes are empty.
Grid gating_matrix(const weft::SpatialGatingUnit& unit, std::size_t n, bool causal) {
  const std::vector<double> weight = values_of(unit.weight.value());
  Grid w = grid(n, n, none);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < (causal ? i + 1 : n); ++j)
      w.at(i, j) = weight[i * static_cast<std::size_t>(unit.seq_len) + j];
  return w;
}

// Returns the mean of |W[i, j]| for each distance i - j.
std::vector<double> by_distance(const Grid& w, const std::vector<double>& distances) {
  std::vector<double> means;
  for (const double distance : distances) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < w.rows; ++i) {
      const double j = static_cast<double>(i) - distance;
      if (j < 0 || j >= static_cast<double>(w.columns)) continue;
      sum += std::abs(w.at(i, static_cast<std::size_t>(j)));
      ++count;
    }
    means.push_back(sum / count);
  }
  return means;
}

// Returns the part of W's variance that the nearest Toeplitz matrix explains. In that matrix, each element is the mean
// of its diagonal in W. The part is 1 - Σ (W[i,j] - mean over i - j)² / Σ (W[i,j] - mean of all)², or 1 if all elements
// are equal.
double toeplitz_share(const Grid& w) {
  const std::size_t diagonals = w.rows + w.columns - 1;
  std::vector<double> sums(diagonals, 0), counts(diagonals, 0);
  const auto each = [&](auto use) {
    for (std::size_t i = 0; i < w.rows; ++i)
      for (std::size_t j = 0; j < w.columns; ++j)
        if (!std::isnan(w.at(i, j))) use(i + w.columns - 1 - j, w.at(i, j));
  };
  each([&](std::size_t diagonal, double value) {
    sums[diagonal] += value;
    ++counts[diagonal];
  });
  const double mean =
      std::accumulate(sums.begin(), sums.end(), 0.0) / std::accumulate(counts.begin(), counts.end(), 0.0);
  double left = 0, all = 0;
  each([&](std::size_t diagonal, double value) {
    left += std::pow(value - sums[diagonal] / counts[diagonal], 2);
    all += std::pow(value - mean, 2);
  });
  return all > 0 ? 1 - left / all : 1;
}

std::vector<double> range(std::int64_t first, std::int64_t end) {
  std::vector<double> values(static_cast<std::size_t>(end - first));
  std::iota(values.begin(), values.end(), static_cast<double>(first));
  return values;
}

Json gating(const weft::Gmlp& model, std::int64_t length) {
  const bool causal = model.task() == weft::Task::causal_lm;
  const std::int64_t n = std::min(length, model.max_length());
  const std::vector<double> distances = range(causal ? 0 : 1 - n, n);
  Json layers = Json::array();
  for (const weft::GmlpBlock& block : model.blocks()) {
    const Grid w = gating_matrix(block.sgu, static_cast<std::size_t>(n), causal);
    layers.push_back({{"matrix", drawn_grid(w)},
                      {"by_distance", numbers(by_distance(w, distances))},
                      {"toeplitz_share", number(toeplitz_share(w))}});
  }
  return {{"kind", "gating"}, {"causal", causal}, {"length", n}, {"distances", numbers(distances)}, {"layers", layers}};
}

// Returns the channels of t (m, channels) as rows, sorted by increasing mean lag. If there are more than most_channels,
// it returns evenly spaced ones.
Grid sorted_channels(const std::vector<double>& t, const std::vector<double>& lags) {
  const std::size_t m = lags.size(), channels = t.size() / m;
  std::vector<double> mean_lag(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double weighted = 0, sum = std::numeric_limits<double>::min();
    for (std::size_t k = 0; k < m; ++k) {
      weighted += std::abs(t[k * channels + c]) * std::abs(lags[k]);
      sum += std::abs(t[k * channels + c]);
    }
    mean_lag[c] = weighted / sum;
  }
  std::vector<std::size_t> order(channels);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return mean_lag[a] < mean_lag[b]; });
  Grid sorted = grid(std::min(channels, most_channels), m);
  for (std::size_t row = 0; row < sorted.rows; ++row)
    for (std::size_t k = 0; k < m; ++k) sorted.at(row, k) = t[k * channels + order[row * channels / sorted.rows]];
  return sorted;
}

// Returns the root mean square over the channels and the `per_point` lags of each point.
std::vector<double> rms_by_lag(const std::vector<double>& t, std::size_t lags, std::size_t per_point) {
  const std::size_t channels = t.size() / lags;
  std::vector<double> rms;
  for (std::size_t begin = 0; begin < lags; begin += per_point) {
    const std::size_t end = std::min(begin + per_point, lags);
    double squares = 0;
    for (std::size_t i = begin * channels; i < end * channels; ++i) squares += t[i] * t[i];
    rms.push_back(std::sqrt(squares / static_cast<double>((end - begin) * channels)));
  }
  return rms;
}

// Returns the minimum, the median and the maximum of the decays that a layer has learned, or null if it learns none.
Json learned_decays(const weft::Tno& tno) {
  const weft::NamedParameters parameters = weft::parameters_of(tno);
  if (!tno.options().use_multi_decay || parameters.front().first != "gamma") return nullptr;
  std::vector<double> gammas = values_of(parameters.front().second.value());
  const double lowest = tno.options().gamma;
  for (double& g : gammas) g = lowest + (1 - lowest) / (1 + std::exp(-g));
  std::sort(gammas.begin(), gammas.end());
  return numbers({gammas.front(), gammas[gammas.size() / 2], gammas.back()});
}

Json toeplitz(const weft::Tnn& model, std::int64_t length) {
  if (model.layers().empty()) return nullptr;
  const weft::Tno& first = model.layers().front().token_mixer().toep();
  const weft::TnnConfig& options = first.options();
  const weft::PatchGrid grid = weft::mixing_grid("tnn", options.mixing, model.input());
  if (grid.defined()) length = grid.rows;
  const std::int64_t n = options.depends_on_length() ? length : std::min(length, most_lags);
  const std::vector<double> lags = range(first.causal() ? 0 : 1 - n, n);
  const std::size_t per_point = (lags.size() + most_points - 1) / most_points;
  std::vector<double> points;
  for (std::size_t i = 0; i < lags.size(); i += per_point) points.push_back(lags[i]);
  Json layers = Json::array();
  std::size_t channels = 0;
  for (const weft::TnnLayer& layer : model.layers()) {
    const std::vector<double> t = values_of(layer.token_mixer().toep().coefficients(n));
    channels = t.size() / lags.size();
    layers.push_back({{"rms", numbers(rms_by_lag(t, lags.size(), per_point))},
                      {"gammas", learned_decays(layer.token_mixer().toep())},
                      {"matrix", drawn_grid(sorted_channels(t, lags))}});
  }
  return {{"kind", "toeplitz"},
          {"causal", first.causal()},
          {"length", n},
          {"gamma", options.use_decay ? number(options.gamma) : Json(nullptr)},
          {"channels", channels},
          {"lags", numbers(points)},
          {"unit", grid.defined() ? "patches from top to bottom" : "tokens"},
          {"layers", layers}};
}

}  // namespace

Json learned_weights(const weft::Model& model, std::int64_t length) {
  if (const auto* gmlp = dynamic_cast<const weft::Gmlp*>(&model)) return gating(*gmlp, length);
  if (const auto* tnn = dynamic_cast<const weft::Tnn*>(&model)) return toeplitz(*tnn, length);
  return nullptr;
}

}  // namespace report
