// Coefficients that are sums of exponentials (arXiv 2311.08756).
#include <cmath>

#include "weft/tnn.h"

namespace weft {
namespace {

// exp(-alpha k) · cos(theta k) and exp(-alpha k) · sin(theta k) for each lag k, (m, K, channels) for alpha and theta
// (K, channels).
struct Powers {
  Tensor re, im;
  Powers(const Tensor& alpha, const Tensor& theta, const std::vector<double>& lags) {
    const auto m = static_cast<std::int64_t>(lags.size());
    const Tensor k = raw::convert(Tensor::from(lags, {m, 1, 1}), alpha.dtype()), angles = mul(k, theta);
    const Tensor size = exp(neg(mul(k, alpha)));
    re = mul(size, cos(angles));
    im = mul(size, sin(angles));
  }
};

// The lags first, first + step, …; `count` of them.
std::vector<double> lags_from(std::int64_t first, std::int64_t step, std::int64_t count) {
  std::vector<double> lags;
  for (std::int64_t i = 0; i < count; ++i) lags.push_back(static_cast<double>(first + i * step));
  return lags;
}

Tensor in_f64(const Parameter& x) { return raw::convert(x.value(), DType::f64); }

// exp(nu), which is finite for every nu. Otherwise 0 · exp(nu) would be NaN at lag 0.
Tensor rates(const Tensor& nu) { return exp(clamp(nu, -80, 80)); }

// The number of lags that share a power of λ. Larger: the product needs more powers of small lags. Smaller: more powers
// of large lags.
constexpr std::int64_t block = 64;

}  // namespace

Exponentials::Exponentials(std::int64_t channels, const TnnConfig& options, const Init& init) {
  const std::int64_t terms = options.exponentials;
  if (terms < 1) throw Error("[Exponentials] expected exponentials of at least 1, got " + std::to_string(terms));
  const Shape shape{terms, channels};
  const double deviation = 1 / std::sqrt(static_cast<double>(terms));
  nu_ = init.full(shape, 0);
  theta_ = init.child(0).normal(shape, 1);
  a_ = init.child(1).normal(shape, deviation);
  b_ = init.child(2).normal(shape, deviation);
  if (init.shapes_only) return;
  std::vector<double> inverse_scales;  // 1/s_j
  for (std::int64_t j = 0; j < terms; ++j)
    inverse_scales.push_back(std::pow(static_cast<double>(options.seq_len),
                                      terms == 1 ? -1 : -static_cast<double>(j) / static_cast<double>(terms - 1)));
  const Tensor rate = raw::convert(Tensor::from(inverse_scales, {terms, 1}), init.dtype);
  const NoGrad suspended;
  nu_.assign(add(nu_.value(), log(rate)));
  theta_.assign(mul(theta_.value(), rate));
}

// With first + B q + r for the lag k, Re((a - i b) λ^k) = Re(p_q λ^r), where p_q = (a - i b) λ^(first + B q). So only
// the powers of m/B + B lags are computed, and t (m, channels) is a product of the matrices (m/B, 2 K) and (2 K, B) in
// each channel.
Tensor Exponentials::operator()(std::int64_t first, std::int64_t last) const {
  const std::int64_t m = last - first, blocks = (m + block - 1) / block, channels = nu_.value().size(1);
  const Tensor alpha = rates(nu_), theta = theta_, a = a_, b = b_;
  const Powers coarse(alpha, theta, lags_from(first, block, blocks)), fine(alpha, theta, lags_from(0, 1, block));
  const Tensor re = add(mul(a, coarse.re), mul(b, coarse.im)), im = sub(mul(a, coarse.im), mul(b, coarse.re));
  const Tensor left = permute(concat({re, neg(im)}, 1), {2, 0, 1});           // (channels, m/B, 2 K)
  const Tensor right = permute(concat({fine.re, fine.im}, 1), {2, 1, 0});     // (channels, 2 K, B)
  const Tensor t = reshape(matmul(left, right), {channels, blocks * block});  // (channels, lags)
  return permute(slice(t, 1, 0, m), {1, 0});
}

// Re(λ - 1) = exp(-α) cos θ - 1 = (exp(-α) - 1) cos θ - 2 sin²(θ/2), which has no cancellation if λ is near 1.
Tensor Exponentials::factors() const {
  const NoGrad suspended;
  const Tensor theta = in_f64(theta_), less = expm1(neg(rates(in_f64(nu_))));
  const Tensor re = sub(mul(less, cos(theta)), scale(square(sin(scale(theta, 0.5))), 2));
  const Tensor im = mul(add(less, Tensor::full({1, 1}, 1, DType::f64)), sin(theta));
  return raw::convert(raw::contiguous(stack({re, im, in_f64(a_), in_f64(b_)}, 1)), nu_.value().dtype());
}

}  // namespace weft
