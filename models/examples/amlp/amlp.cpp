#include "amlp.h"

#include <weft/gmlp.h>
#include <weft/ops.h>
#include <weft/recompute.h>

#include <cmath>

namespace amlp {

using weft::Tensor;

namespace {

Config checked(const Config& config) {
  if (config.d_ffn % 2 != 0) throw weft::Error("[amlp] expected an even d_ffn, got " + std::to_string(config.d_ffn));
  return config;
}

}  // namespace

TinyAttention::TinyAttention(const Config& config, const weft::Init& init)
    : qkv_(config.d_model, 3 * config.d_attn, init.child(0)), out_(config.d_attn, config.d_ffn / 2, init.child(1)) {}

Tensor TinyAttention::operator()(const Tensor& x) const {
  const std::vector<Tensor> qkv = weft::chunk(qkv_(x), 3, -1);  // q, k, v (n, b, d_attn)
  const auto n = x.size(0), d_attn = qkv[0].size(2);
  const Tensor mask = weft::log(weft::reshape(weft::causal_mask(n, x.dtype()), {n, n}));  // 0 if j <= i, else -∞
  const Tensor qk = weft::einsum("ibd,jbd->bij", {qkv[0], qkv[1]});                       // (b, n, n)
  const Tensor p = weft::softmax(weft::scale(qk, 1 / std::sqrt(static_cast<double>(d_attn))) + mask, -1);
  return out_(weft::einsum("bij,jbd->ibd", {p, qkv[2]}));  // (n, b, d_ffn/2)
}

// W is near 0 and b is 1, so at first tokens hardly mix (section 2.2).
SpatialGate::SpatialGate(const Config& config, const weft::Init& init)
    : toeplitz_(config.toeplitz), norm_(config.d_ffn / 2, init), bias_(init.full({config.seq_len}, 1)) {
  const std::int64_t n = config.seq_len;
  weight_ = init.uniform(toeplitz_ ? weft::Shape{n} : weft::Shape{n, n}, -0.01, 0.01);
}

Tensor SpatialGate::operator()(const Tensor& z, const Tensor& a) const {
  const std::vector<Tensor> halves = weft::chunk(z, 2, -1);
  const Tensor u = halves[0], v = norm_(halves[1]);  // (n, b, d)
  const auto n = v.size(0), b = v.size(1), d = v.size(2);
  const Tensor bias = weft::slice(bias_, 0, 0, n);  // (n)
  if (!toeplitz_) {
    const Tensor w = weft::slice(weft::slice(weight_, 0, 0, n), 1, 0, n);  // (n, n)
    const Tensor gated = weft::spatial_gate(u, v, w, bias, true);          // u ⊙ (W v + b) in one operation
    return a.defined() ? gated + u * a : gated;
  }
  // Σ_(j<=i) t[i-j] v_j. For many tokens, Fourier transforms compute this sum in O(n log n). All channels have the same
  // t.
  const Tensor t = weft::reshape(weft::slice(weight_, 0, 0, n), {1, n, 1});
  const Tensor x = weft::reshape(weft::transpose(v, 0, 1), {b, 1, n, d});
  const Tensor tv = weft::toeplitz_product(x, weft::expand(t, {1, n, d}), true);  // (b, 1, n, d)
  const Tensor mixed = weft::transpose(weft::reshape(tv, {b, n, d}), 0, 1);       // (n, b, d)
  const Tensor sum = mixed + weft::cast(weft::reshape(bias, {n, 1, 1}), mixed.dtype());
  return u * (a.defined() ? sum + a : sum);
}

Block::Block(const Config& config, const weft::Init& init)
    : norm_(config.d_model, init),
      proj1_(config.d_model, config.d_ffn, init.child(0)),
      gate_(config, init.child(2)),
      proj2_(config.d_ffn / 2, config.d_model, init.child(3)) {
  if (config.d_attn > 0) attention_.emplace(config, init.child(1));
}

Tensor Block::operator()(const Tensor& x) const {
  const Tensor h = norm_(x);                                  // (n, b, d_model)
  const Tensor z = proj1_(h, weft::Activation::gelu);         // (n, b, d_ffn)
  const Tensor a = attention_ ? (*attention_)(h) : Tensor();  // (n, b, d_ffn/2)
  return proj2_(gate_(z, a), weft::Epilogue::adding(x));      // x + proj2(gated)
}

Amlp::Amlp(const weft::ModelSpec& spec, const weft::Init& init)
    : ModelOf(spec, checked(weft::config_from_json<Config>("amlp", spec.config))),
      embedding_(spec.vocabulary, config_.d_model, init.child(0)),
      norm_(config_.d_model, init),
      head_(config_.d_model, spec.vocabulary, init.child(1)) {
  for (std::int64_t i = 0; i < config_.layers; ++i)
    blocks_.emplace_back(config_, init.child(static_cast<std::uint64_t>(2 + i)));
}

Tensor Amlp::operator()(const Tensor& tokens, const weft::Random*) const {
  weft::check_tokens("amlp", tokens, config_.seq_len);
  Tensor x = weft::in_precision(embedding_(weft::transpose(tokens, 0, 1)), precision());  // (n, b, d_model)
  for (const Block& block : blocks_) {
    const auto layer = [&block](const std::vector<Tensor>& in) { return block(in[0]); };
    x = recomputes() ? weft::recompute(layer, {x}) : layer({x});
  }
  return weft::transpose(head_(norm_(x)), 0, 1);  // (b, n, vocabulary)
}

weft::Architecture Amlp::architecture() {
  return {"amlp", {weft::Task::causal_lm}, weft::config_fields<Config>(), weft::make_as<Amlp>};
}

}  // namespace amlp
