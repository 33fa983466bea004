// The Toeplitz neural operator (arXiv 2305.04749, sections 3.2 and 3.4).
#include "weft/tnn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/kept_toeplitz.h"
#include "base/sequence.h"

namespace weft {
using namespace detail;

namespace {

// In f32, the decay of a longer time scale would be 1.
constexpr std::int64_t longest_time_scale = 1 << 17;

const TnnConfig& checked(std::int64_t h, std::int64_t dim, const TnnConfig& options, bool causal) {
  if (h < 1 || dim < 1)
    throw Error("[Tno] expected h and dim of at least 1, got " + std::to_string(h) + " and " + std::to_string(dim));
  if (options.par_type < 1 || options.par_type > 4)
    throw Error("[Tno] expected par_type 1, 2, 3 or 4, got " + std::to_string(options.par_type));
  if (options.par_type == 3 && !causal) throw Error("[Tno] par_type 3 is only defined for the causal form");
  if (options.use_decay && options.use_multi_decay)
    throw Error(
        "[Tno] use_decay and use_multi_decay exclude each other: to use use_multi_decay, set use_decay to false (its "
        "default is true)");
  if (options.time_scales < 0 || options.time_scales > longest_time_scale)
    throw Error("[Tno] expected time_scales of 0 to " + std::to_string(longest_time_scale) + ", got " +
                std::to_string(options.time_scales));
  if (options.time_scales > 0 && !options.use_multi_decay)
    throw Error("[Tno] expected use_multi_decay for time_scales " + std::to_string(options.time_scales));
  if (!(options.gamma >= 0 && options.gamma <= 1))
    throw Error("[Tno] expected 0 <= gamma <= 1, got " + std::to_string(options.gamma));
  if (options.exponentials < 0)
    throw Error("[Tno] expected exponentials of at least 0, got " + std::to_string(options.exponentials));
  if (options.exponentials > 0 && !causal) throw Error("[Tno] exponentials are only defined for the causal form");
  if (options.exponentials > 0 && options.normalize) throw Error("[Tno] exponentials and normalize exclude each other");
  return options;
}

// Returns the values as a column (m, 1).
Tensor column(const std::vector<double>& values, DType dtype) {
  return raw::convert(Tensor::from(values, {static_cast<std::int64_t>(values.size()), 1}), dtype);
}

// Returns sin(w_j k) and cos(w_j k) in columns 2j and 2j+1 for each lag k, with the frequencies w_j = pi / 4096^(2j/d):
// (m, d). From k alone, the encoder learns only coefficients that change slowly with k; with sines and cosines it also
// learns those that change from lag to lag, such as the ones that compare a pixel with the pixel above it (Tancik et al.
// 2020, arXiv 2006.10739).
Tensor waves(const std::vector<double>& lags, std::int64_t d, DType dtype) {
  std::vector<double> values;
  for (double k : lags)
    for (std::int64_t j = 0; j < d; j += 2) {
      const double angle = k * std::numbers::pi / std::pow(4096, static_cast<double>(j) / static_cast<double>(d));
      values.insert(values.end(), {std::sin(angle), std::cos(angle)});
    }
  return raw::convert(Tensor::from(values, {static_cast<std::int64_t>(lags.size()), d}), dtype);
}

}  // namespace

Tno::Tno(std::int64_t h, std::int64_t dim, const TnnConfig& options, bool causal, const Init& init)
    : h_(h),
      dim_(dim),
      options_(checked(h, dim, options, causal)),
      causal_(causal),
      act_type_(activation_from_name(options.act_type)),
      dtype_(init.dtype),
      kept_(std::make_shared<KeptToeplitz>()) {
  if (options.exponentials > 0) {
    exponentials_.emplace(h * dim, options, init.child(0));
    return;
  }
  rpe_.emplace(h * dim, options, init.child(0));
  if (options.use_multi_decay)
    gamma_ = options.time_scales > 0 ? init.full({h, 1, dim}, 0) : init.child(1).normal({h, 1, dim}, 1);
}

// y = T x with T_ij = t_(i-j) in each channel. With `normalize`, y = (T x) / (T·1).
Tensor Tno::operator()(const Tensor& x) const {
  if (x.rank() != 4 || x.size(1) != h_ || x.size(2) < 1 || x.size(3) != dim_)
    throw Error("[Tno] expected x (b, " + std::to_string(h_) + ", n >= 1, " + std::to_string(dim_) + "), got " +
                to_string(x.shape()));
  const auto t = [&] {
    return permute(reshape(coefficients(x.size(2)), {-1, h_, dim_}), {1, 0, 2});  // (h, m, dim)
  };
  if (Tape::recording()) return toeplitz_mix(x, t(), causal_, options_.normalize);
  return kept_->mix(x, t, causal_, options_.normalize, versions_of(parameters_of(*this)));
}

// t_k = act_type(gamma^|k| · rpe(p_k)), (m, h·dim). The coefficients depend only on the parameters and the lags, and
// for par_type 2 and 3 also on the largest lag.
Tensor Tno::coefficients(const std::vector<double>& k) const {
  Tensor t = (*rpe_)(positions(k));  // (m, h·dim)
  if (options_.use_decay || options_.use_multi_decay) t = mul(t, decay(k));
  return act_type_ == Activation::none ? t : activation(t, act_type_);
}

std::vector<double> Tno::lags(std::int64_t n) const {
  std::vector<double> k;
  for (std::int64_t lag = causal_ ? 0 : 1 - n; lag < n; ++lag) k.push_back(static_cast<double>(lag));
  return k;
}

// The positions are k, k/(n-1), exp(k/(n-1)) or waves of k, depending on par_type. The last lag is n-1. For one token
// there is only lag 0, whose position is 0, exp(0) or the waves of 0.
Tensor Tno::positions(const std::vector<double>& lags) const {
  if (options_.par_type == 4) return waves(lags, options_.position_channels(), dtype_);
  const double last = std::max(lags.back(), 1.0);
  std::vector<double> p;
  for (double k : lags)
    p.push_back(options_.par_type == 1 ? k : options_.par_type == 2 ? k / last : std::exp(k / last));
  return column(p, dtype_);
}

// gamma^|k|, (m, 1). A learned decay is exp(|k| log gamma), (m, h·dim), with
// gamma = lambda + (1 - lambda) sigmoid(g + o), where o are the offsets of time_scales.
// lambda is at least the smallest normal number. Otherwise, if the sigmoid underflows, the factor of lag 0 would be
// exp(0 · log 0), which is NaN instead of 1.
Tensor Tno::decay(const std::vector<double>& lags) const {
  std::vector<double> factors;
  for (double k : lags) factors.push_back(options_.use_decay ? std::pow(options_.gamma, std::abs(k)) : std::abs(k));
  const Tensor per_lag = column(factors, dtype_);
  if (options_.use_decay) return per_lag;
  const double smallest = dtype_ == DType::f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const double lambda = std::max(options_.gamma, smallest);
  const Tensor offsets = raw::convert(Tensor::from(decay_offsets(), {1, h_ * dim_}), dtype_);
  const Tensor sigmoid = activation(add(reshape(gamma_, {1, h_ * dim_}), offsets), Activation::sigmoid);
  const Tensor gamma = add(scale(sigmoid, 1 - lambda), Tensor::full({1, 1}, lambda, dtype_));
  return exp(mul(per_lag, log(gamma)));
}

Tensor Tno::coefficients(std::int64_t n) const {
  return exponentials_ ? (*exponentials_)(0, n) : coefficients(lags(n));
}

Tensor Tno::coefficients(std::int64_t first, std::int64_t last) const {
  if (options_.depends_on_length() || !causal_ || first < 0 || last <= first)
    throw Error(
        "[Tno] the coefficients of a range of lags need par_type 1 or 4, the causal form and 0 <= first < last, got "
        "first " +
        std::to_string(first) + " and last " + std::to_string(last));
  if (exponentials_) return (*exponentials_)(first, last);
  std::vector<double> k;
  for (std::int64_t lag = first; lag < last; ++lag) k.push_back(static_cast<double>(lag));
  return coefficients(k);
}

}  // namespace weft
