// The spatial gating unit and the block around it (arXiv 2105.08050, figure 1 and section 2).
#include "weft/gmlp.h"

namespace weft {
namespace {

// Returns a view with the batch axis and the token axis swapped.
Tensor swapped(const char* where, const Tensor& x) {
  if (x.rank() != 3) throw Error(std::string(where) + " expected a sequence (b, n, d), got " + to_string(x.shape()));
  return transpose(x, 0, 1);
}

}  // namespace

SpatialGatingUnit::SpatialGatingUnit(std::int64_t d_z, std::int64_t length, const Init& init)
    : norm(d_z / 2, init), seq_len(length) {
  if (d_z < 2 || d_z % 2 != 0)
    throw Error("[SpatialGatingUnit] expected an even d_z of at least 2, got " + std::to_string(d_z));
  if (seq_len < 1) throw Error("[SpatialGatingUnit] expected seq_len >= 1, got " + std::to_string(seq_len));
  weight = init.uniform({seq_len, seq_len}, -0.01, 0.01);
  bias = init.full({seq_len}, 1);
}

Tensor SpatialGatingUnit::operator()(const Tensor& z, const SpatialMask& mask) const {
  return transpose(tokens_first(swapped("[SpatialGatingUnit]", z), mask), 0, 1);
}

// y_i = z1_i ⊙ (sum_j W[i,j] mask[i,j] norm(z2)_j + b_i), W = weight[:n,:n]
Tensor SpatialGatingUnit::tokens_first(const Tensor& z, const SpatialMask& mask, const SpatialMix& mix) const {
  if (z.rank() != 3) throw Error("[SpatialGatingUnit] expected z (n, b, d_z), got " + to_string(z.shape()));
  if (z.size(0) > seq_len)
    throw Error("[SpatialGatingUnit] expected sequences of at most " + std::to_string(seq_len) + " tokens, got " +
                std::to_string(z.size(0)));
  if (mix && (mask.tensor.defined() || mask.is_causal))
    throw Error("[SpatialGatingUnit] expected either a mask or a mix, because a mix replaces weight, mask and bias");
  const std::int64_t n = z.size(0);
  const std::vector<Tensor> halves = chunk(z, 2, -1);  // z1, z2 (n, b, d_z/2)
  if (mix) return mix(halves[0], norm(halves[1]));
  Tensor w = slice(slice(weight, 0, 0, n), 1, 0, n);  // (n, n)
  if (mask.tensor.defined()) {
    if (mask.tensor.shape() != Shape{n, n, 1} && mask.tensor.shape() != Shape{1, n, 1})
      throw Error("[SpatialGatingUnit] expected a mask of shape " + to_string({n, n, 1}) + " or " +
                  to_string({1, n, 1}) + ", got " + to_string(mask.tensor.shape()));
    w = mul(w, reshape(mask.tensor, {mask.tensor.size(0), n}));
  }
  return spatial_gate(halves[0], norm(halves[1]), w, slice(bias, 0, 0, n), mask.is_causal);
}

GmlpBlock::GmlpBlock(std::int64_t d_model, std::int64_t d_ffn, std::int64_t seq_len, const Init& init, double p)
    : norm(d_model, init),
      proj1(d_model, d_ffn, init.child(1)),
      sgu(d_ffn, seq_len, init.child(2)),
      proj2(d_ffn / 2, d_model, init.child(3)),
      dropout(p) {}

Tensor GmlpBlock::operator()(const Tensor& x, const SpatialMask& mask, const Random* random) const {
  return transpose(tokens_first(swapped("[GmlpBlock]", x), mask, random), 0, 1);
}

// y = x + dropout(proj2(sgu(gelu(proj1(norm(x))), mask)))
Tensor GmlpBlock::tokens_first(const Tensor& x, const SpatialMask& mask, const Random* random,
                               const SpatialMix& mix) const {
  const Tensor z = proj1(norm(x), Activation::gelu);    // (n, b, d_ffn)
  const Tensor gated = sgu.tokens_first(z, mask, mix);  // (n, b, d_ffn/2)
  if (!random || dropout.p == 0) return proj2(gated, Epilogue::adding(x));
  return add(x, dropout(proj2(gated), random));
}

Tensor causal_mask(std::int64_t n, DType dtype) {
  const Tensor mask = Tensor::zeros({n, n, 1}, dtype);
  for (std::int64_t i = 0; i < n; ++i) {
    Tensor row = slice(slice(mask, 0, i, i + 1), 1, 0, i + 1);
    raw::fill(row, 1);
  }
  return mask;
}

}  // namespace weft
