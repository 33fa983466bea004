// The gated Toeplitz unit, the gated linear unit, and the layer that contains both (arXiv 2305.04749, section 3.1 and
// figure 2).
#include <cmath>

#include "weft/tnn.h"

namespace weft {
namespace {

std::int64_t expanded(std::int64_t embed_dim, const TnnConfig& options) {
  if (embed_dim < 1 || options.heads < 1)
    throw Error("[Gtu] expected embed_dim and heads of at least 1, got " + std::to_string(embed_dim) + " and " +
                std::to_string(options.heads));
  const double product = std::floor(options.expand_ratio * static_cast<double>(embed_dim));
  if (!(product >= static_cast<double>(options.heads) && product < 0x1p31))
    throw Error("[Gtu] expand_ratio " + std::to_string(options.expand_ratio) + " times embed_dim " +
                std::to_string(embed_dim) + " doesn't give each of " + std::to_string(options.heads) +
                " heads a channel");
  return static_cast<std::int64_t>(product) / options.heads * options.heads;
}

// Applies the Tno to x (b, rows, columns, h, dim) along the axis that the permutation `order` puts before the channels.
// `back` is the inverse permutation.
Tensor along(const Tno& tno, const Tensor& x, const std::vector<std::int64_t>& order,
             const std::vector<std::int64_t>& back) {
  const Tensor lines = permute(x, order);  // (b, other axis, h, n, dim)
  const Tensor mixed = tno(reshape(lines, {lines.size(0) * lines.size(1), lines.size(2), lines.size(3), -1}));
  return permute(reshape(mixed, lines.shape()), back);
}

}  // namespace

Gtu::Gtu(std::int64_t embed_dim, const TnnConfig& options, bool causal, const Init& init, const PatchGrid& grid)
    : d1_(expanded(embed_dim, options)),
      heads_(options.heads),
      act_(activation_from_name(options.act)),
      v_proj_(embed_dim, d1_, init.child(0), options.bias),
      u_proj_(embed_dim, d1_, init.child(1), options.bias),
      o_(d1_, embed_dim, init.child(2), options.bias),
      toep_(heads_, d1_ / heads_, options, causal, init.child(3)),
      grid_(grid) {
  if (grid.defined()) row_toep_.emplace(heads_, d1_ / heads_, options, causal, init.child(4));
  if (options.use_norm) norm_.emplace(norm_type_from_name(options.norm_type), d1_, init);
}

// merge(tno(split(v))), or the sum of two such products along the axes of a picture (b, rows, columns, h, d1/h).
Tensor Gtu::mix(const Tensor& v) const {
  const std::int64_t b = v.size(0), n = v.size(1);
  if (row_toep_) {
    if (n != grid_.rows * grid_.columns)
      throw Error("[Gtu] expected " + std::to_string(grid_.rows * grid_.columns) + " patches, got " +
                  std::to_string(n));
    const Tensor picture = reshape(v, {b, grid_.rows, grid_.columns, heads_, -1});
    const Tensor columns = along(toep_, picture, {0, 2, 3, 1, 4}, {0, 3, 1, 2, 4});
    const Tensor rows = along(*row_toep_, picture, {0, 1, 3, 2, 4}, {0, 1, 3, 2, 4});
    return reshape(add(columns, rows), {b, n, d1_});
  }
  const Tensor heads = permute(reshape(v, {b, n, heads_, -1}), {0, 2, 1, 3});  // (b, h, n, d1/h)
  return reshape(permute(toep_(heads), {0, 2, 1, 3}), {b, n, d1_});
}

Tensor Gtu::operator()(const Tensor& x, const Tensor& residual) const {
  return (*this)(x, residual, [this](const Tensor& v) { return mix(v); });
}

// y = o(norm(act(u_proj x) ⊙ mix(act(v_proj x)))) + residual
Tensor Gtu::operator()(const Tensor& x, const Tensor& residual, const TokenMix& mix) const {
  if (x.rank() != 3) throw Error("[Gtu] expected x (b, n, embed_dim), got " + to_string(x.shape()));
  const Tensor mixed = mix(v_proj_(x, act_));      // (b, n, d1)
  const Tensor gated = u_proj_(x, {act_, mixed});  // (b, n, d1)
  return o_(norm_ ? (*norm_)(gated) : gated, Epilogue::adding(residual));
}

Glu::Glu(std::int64_t d1, std::int64_t d2, Activation act_fun, const Init& init, bool bias, Activation fina_act)
    : l1_(d1, d2, init.child(0), bias),
      l2_(d1, d2, init.child(1), bias),
      l3_(d2, d1, init.child(2), bias),
      act_fun_(act_fun),
      fina_act_(fina_act) {}

// y = fina_act(l3(act_fun(l1 x) ⊙ l2 x)) + residual
Tensor Glu::operator()(const Tensor& x, const Tensor& residual) const {
  const Tensor gated = l1_(x, {act_fun_, l2_(x)});  // (…, d2)
  return l3_(gated, {fina_act_, {}, residual});
}

TnnLayer::TnnLayer(std::int64_t dim, const TnnConfig& options, bool causal, const Init& init, const PatchGrid& grid)
    : token_mixer_(dim, options, causal, init.child(0), grid),
      token_norm_(norm_type_from_name(options.norm_type), dim, init),
      feature_mixer_(dim, options.glu_dim == 0 ? dim : options.glu_dim, activation_from_name(options.glu_act),
                     init.child(1), options.bias),
      feature_norm_(norm_type_from_name(options.norm_type), dim, init),
      prenorm_(options.prenorm),
      dropout_(options.dropout) {}

// x + dropout(f(norm(x))), or x + dropout(norm(f(x))) without prenorm. If neither dropout nor a norm follows f, f adds
// the residual x itself.
template <class F>
Tensor TnnLayer::block(const Tensor& x, const Norm& norm, const Random* random, const F& f) const {
  const bool drops = random && dropout_.p > 0;
  if (prenorm_ && !drops) return f(norm(x), x);
  const Tensor y = prenorm_ ? f(norm(x), Tensor()) : norm(f(x, Tensor()));
  return add(x, dropout_(y, random));
}

// x + token_mixer(token_norm(x)), then x + feature_mixer(feature_norm(x)). Without prenorm, the norms are after the
// mixers.
Tensor TnnLayer::operator()(const Tensor& x, const Random* random, const TokenMix& mix) const {
  const Random first = random ? random->split(0) : Random(0), second = random ? random->split(1) : Random(0);
  const Tensor mixed = block(x, token_norm_, random ? &first : nullptr, [&](const Tensor& in, const Tensor& residual) {
    return mix ? token_mixer_(in, residual, mix) : token_mixer_(in, residual);
  });
  return block(mixed, feature_norm_, random ? &second : nullptr, feature_mixer_);
}

}  // namespace weft
