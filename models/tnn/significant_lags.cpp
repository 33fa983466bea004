// Finds the lags of a Toeplitz neural operator whose contribution exceeds the rounding error.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tnn/activation_lift.h"
#include "weft/tnn.h"

namespace weft {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t all_lags = std::numeric_limits<std::int64_t>::max();

std::vector<double> values(const Parameter& parameter) {
  return raw::convert(Tensor(parameter), DType::f64).to_vector<double>();
}

double norm2(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

// Σ_(k < 64) |t_k| for each channel of t (64, channels).
std::vector<double> first_sums(const Tensor& t) {
  const std::vector<double> all = raw::convert(t, DType::f64).to_vector<double>();
  std::vector<double> sums(static_cast<std::size_t>(t.size(1)));
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += std::abs(all[i]);
  return sums;
}

// Returns the smallest L >= 1 with gamma^L <= share, for 0 < gamma < 1.
double lags_until(double share, double gamma) {
  return share >= 1 ? 1 : std::max(1.0, std::ceil(std::log(share) / std::log(gamma)));
}

}  // namespace

// ‖(x - mean) / deviation‖₂ <= √d, and also ‖x / rms‖₂ <= √d.
double Norm::bound(std::int64_t d) const {
  const double root = std::sqrt(static_cast<double>(d));
  if (!layer_norm_) return root;
  const std::vector<double> weight = values(layer_norm_->weight), bias = values(layer_norm_->bias);
  double largest = 0;
  for (double w : weight) largest = std::max(largest, std::abs(w));
  return largest * root + norm2(bias.data(), d);
}

// |W_c a + b_c| <= ‖W_c‖₂ ‖a‖₂ + |b_c| for a = act(norm(x)), where ‖a‖₂ <= ‖norm(x)‖₂ + lift · √dim.
std::vector<double> Rpe::bounds() const {
  const std::int64_t dim = dim_;
  const double a = out_.norm.bound(dim) + detail::activation_lift(act_) * std::sqrt(static_cast<double>(dim));
  const std::vector<double> weight = values(out_.linear.weight);
  std::vector<double> bounds;
  for (std::size_t at = 0; at < weight.size(); at += static_cast<std::size_t>(dim))
    bounds.push_back(norm2(weight.data() + at, dim) * a);
  if (!out_.linear.bias.defined()) return bounds;
  const std::vector<double> bias = values(out_.linear.bias);
  for (std::size_t c = 0; c < bounds.size(); ++c) bounds[c] += std::abs(bias[c]);
  return bounds;
}

// Returns o_c = logit(exp(-1/s_c)) = -log(exp(1/s_c) - 1) with s_c = time_scales^(c/(C-1)), or 0 without time_scales.
std::vector<double> Tno::decay_offsets() const {
  const auto channels = static_cast<std::size_t>(h_ * dim_);
  std::vector<double> offsets(channels, 0);
  for (std::size_t c = 0; options_.time_scales > 0 && c < channels; ++c) {
    const double share = channels == 1 ? 1 : static_cast<double>(c) / static_cast<double>(channels - 1);
    offsets[c] = -std::log(std::expm1(std::pow(static_cast<double>(options_.time_scales), -share)));
  }
  return offsets;
}

// Returns the gamma of each channel.
std::vector<double> Tno::decay_rates() const {
  const auto channels = static_cast<std::size_t>(h_ * dim_);
  if (!options_.use_multi_decay) return std::vector<double>(channels, options_.use_decay ? options_.gamma : 1);
  std::vector<double> rates = values(gamma_);
  const std::vector<double> offsets = decay_offsets();
  for (std::size_t c = 0; c < channels; ++c)
    rates[c] = options_.gamma + (1 - options_.gamma) / (1 + std::exp(-rates[c] - offsets[c]));
  return rates;
}

// Returns the smallest L for which the bound Σ_(k >= L) |t_k| <= gamma^L bound / (1 - gamma) is small compared with the
// first coefficients. If there is no such L, for example because these coefficients are 0, L is the lag at which
// gamma^L is rounded to 0. A token stream ignores the lags from L on. This changes y_i by at most 2^-24 Σ_(k < 64)
// |t_k| max |v| in f32 (2^-53 instead of 2^-24 in f64).
std::int64_t Tno::significant_lags() const {
  if (exponentials_ || detail::activation_lift(act_type_) > 0) return all_lags;
  const double rounding = dtype_ == DType::f32 ? 0x1p-24 : 0x1p-53, vanishing = dtype_ == DType::f32 ? 0x1p-151 : 0;
  const std::vector<double> rates = decay_rates(), bounds = rpe_->bounds(), sums = first_sums(coefficients(0, 64));
  double lags = 1;
  for (std::size_t c = 0; c < rates.size(); ++c) {
    // The bound is increased by 1 %, because its computation has rounding errors.
    const double gamma = rates[c], bound = 1.01 * bounds[c];
    if (gamma == 0 || bound == 0) continue;
    if (!(gamma < 1)) return all_lags;
    // The bound is infinite for an activation that grows like exp. The share could then be NaN, for example infinity /
    // infinity.
    const double share = bound < infinity ? std::max(rounding * sums[c] * (1 - gamma) / bound, vanishing) : vanishing;
    lags = std::max(lags, lags_until(share, gamma));
    if (!(lags < 0x1p62)) return all_lags;
  }
  return static_cast<std::int64_t>(lags);
}

}  // namespace weft
