// The Toeplitz neural operator (arXiv 2305.04749, sections 3.2 and 3.4).
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/sequence.h"
#include "weft/context.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace {

TnoOptions checked(std::int64_t h, std::int64_t dim, const TnoOptions& options) {
  if (h < 1 || dim < 1)
    throw Error("[Tno] expected h and dim of at least 1, got " + std::to_string(h) + " and " + std::to_string(dim));
  if (options.par_type < 1 || options.par_type > 3)
    throw Error("[Tno] expected par_type 1, 2 or 3, got " + std::to_string(options.par_type));
  if (options.par_type == 3 && !options.causal) throw Error("[Tno] par_type 3 is defined for the causal form alone");
  if (options.use_decay && options.use_multi_decay)
    throw Error(
        "[Tno] use_decay and use_multi_decay exclude each other: for use_multi_decay set use_decay, true by default, "
        "to "
        "false");
  if (!(options.gamma >= 0 && options.gamma <= 1))
    throw Error("[Tno] expected 0 <= gamma <= 1, got " + std::to_string(options.gamma));
  return options;
}

// As a column (m, 1).
Tensor column(const std::vector<double>& values, DType dtype) {
  return raw::convert(Tensor::from(values, {static_cast<std::int64_t>(values.size()), 1}), dtype);
}

Tensor quotient(const Tensor& y, const Tensor& sums) { return in_dtype(div(widened(y), sums), y.dtype()); }

}  // namespace

// What products with x (b, h, n, dim) need.
struct Tno::Prepared {
  std::int64_t b, n;
  Isa isa;
  std::vector<std::uint64_t> versions;  // of the parameters
  ToeplitzCoefficients t;
  Tensor sums;  // T·1 (1, h, n, dim), to normalize by
};

struct Tno::Latest {
  std::mutex mutex;
  std::shared_ptr<const Prepared> prepared;
};

Tno::Tno(std::int64_t h, std::int64_t dim, const TnoOptions& options, const Init& init)
    : h_(h),
      dim_(dim),
      options_(checked(h, dim, options)),
      dtype_(init.dtype),
      rpe_(h * dim, options.rpe, init.child(0)),
      latest_(std::make_shared<Latest>()) {
  if (options.use_multi_decay) gamma_ = init.child(1).normal({h, 1, dim}, 1);
}

std::vector<double> Tno::lags(std::int64_t n) const {
  std::vector<double> k;
  for (std::int64_t lag = options_.causal ? 0 : 1 - n; lag < n; ++lag) k.push_back(static_cast<double>(lag));
  return k;
}

// k, k/(n-1) or exp(k/(n-1)); the last lag is n-1. One token has lag 0 alone, whose position is 0 or exp(0).
Tensor Tno::positions(const std::vector<double>& lags) const {
  const double last = std::max(lags.back(), 1.0);
  std::vector<double> p;
  for (double k : lags)
    p.push_back(options_.par_type == 1 ? k : options_.par_type == 2 ? k / last : std::exp(k / last));
  return column(p, dtype_);
}

// gamma^|k|: (m, 1), or learned (m, h·dim) = exp(|k| log gamma), gamma = lambda + (1 - lambda) sigmoid(g). lambda is at
// least the smallest normal number: else a sigmoid that underflows gives 0 · log 0 at lag 0, where the factor is 1.
Tensor Tno::decay(const std::vector<double>& lags) const {
  std::vector<double> factors;
  for (double k : lags) factors.push_back(options_.use_decay ? std::pow(options_.gamma, std::abs(k)) : std::abs(k));
  const Tensor per_lag = column(factors, dtype_);
  if (options_.use_decay) return per_lag;
  const double smallest = dtype_ == DType::f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const double lambda = std::max(options_.gamma, smallest);
  const Tensor sigmoid = activation(reshape(gamma_, {1, h_ * dim_}), Activation::sigmoid);
  const Tensor gamma = add(scale(sigmoid, 1 - lambda), Tensor::full({1, 1}, lambda, dtype_));
  return exp(mul(per_lag, log(gamma)));
}

// Depends on n and the parameters alone.
Tensor Tno::coefficients(std::int64_t n) const { return coefficients(lags(n)); }

Tensor Tno::coefficients(std::int64_t first, std::int64_t last) const {
  if (options_.par_type != 1 || !options_.causal || first < 0 || last <= first)
    throw Error("[Tno] coefficients of some lags: expected par_type 1, the causal form and 0 <= first < last, got " +
                std::to_string(first) + " and " + std::to_string(last));
  std::vector<double> k;
  for (std::int64_t lag = first; lag < last; ++lag) k.push_back(static_cast<double>(lag));
  return coefficients(k);
}

Tensor Tno::coefficients(const std::vector<double>& k) const {
  Tensor t = rpe_(positions(k));  // (m, h·dim)
  if (options_.use_decay || options_.use_multi_decay) t = mul(t, decay(k));
  return options_.act_type == Activation::none ? t : activation(t, options_.act_type);
}

Tensor Tno::channels(std::int64_t n) const { return permute(reshape(coefficients(n), {-1, h_, dim_}), {1, 0, 2}); }

Tensor Tno::ones(std::int64_t n) const { return Tensor::full({1, h_, n, dim_}, 1, dtype_); }

std::shared_ptr<const Tno::Prepared> Tno::prepared(std::int64_t b, std::int64_t n) const {
  NamedParameters parameters;
  collect("", parameters);
  const std::vector<std::uint64_t> versions = versions_of(parameters);
  const Isa isa = Context::current().isa();
  {
    const std::lock_guard<std::mutex> lock(latest_->mutex);
    const std::shared_ptr<const Prepared>& latest = latest_->prepared;
    if (latest && latest->b == b && latest->n == n && latest->isa == isa && latest->versions == versions) return latest;
  }
  const Tensor t = channels(n);
  const ToeplitzCoefficients coefficients(t, options_.causal, b);
  const Tensor sums = options_.normalize ? toeplitz_product(ones(n), t, options_.causal) : Tensor();
  const auto made = std::make_shared<const Prepared>(Prepared{b, n, isa, versions, coefficients, sums});
  const std::lock_guard<std::mutex> lock(latest_->mutex);
  latest_->prepared = made;
  return made;
}

Tensor Tno::operator()(const Tensor& x) const {
  if (x.rank() != 4 || x.size(1) != h_ || x.size(2) < 1 || x.size(3) != dim_)
    throw Error("[Tno] expected x (b, " + std::to_string(h_) + ", n >= 1, " + std::to_string(dim_) + "), got " +
                to_string(x.shape()));
  const std::int64_t n = x.size(2);
  if (!Tape::recording()) {
    const std::shared_ptr<const Prepared> p = prepared(x.size(0), n);
    const Tensor y = toeplitz_product(x, p->t);  // (b, h, n, dim)
    return p->sums.defined() ? quotient(y, p->sums) : y;
  }
  const Tensor t = channels(n), y = toeplitz_product(x, t, options_.causal);
  return options_.normalize ? quotient(y, toeplitz_product(ones(n), t, options_.causal)) : y;
}

void Tno::collect(const std::string& prefix, NamedParameters& out) const {
  if (gamma_.defined()) out.emplace_back(prefix + "gamma", gamma_);
  rpe_.collect(prefix + "rpe.", out);
}

}  // namespace weft
