// gMLP language model and classifier (arXiv 2105.08050): embedding, blocks, norm, head.
#include "weft/gmlp.h"

#include <cmath>
#include <utility>

#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

GmlpConfig checked(GmlpConfig config) {
  if (config.d_ffn == 0) config.d_ffn = 8 * config.d_model;
  if (config.d_ffn < 2 || config.d_ffn % 2 != 0)
    throw Error("[gmlp] expected an even d_ffn of at least 2, got " + std::to_string(config.d_ffn));
  return config;
}

double embedding_deviation(std::int64_t d_model) { return 1 / std::sqrt(static_cast<double>(d_model)); }

}  // namespace

Gmlp::Gmlp(const ModelSpec& spec, const Init& init)
    : ModelOf(spec, checked(config_from_json<GmlpConfig>("gmlp", spec.config))),
      embedding_(spec.vocabulary, config_.d_model, init.child(0), embedding_deviation(config_.d_model)),
      norm_(config_.d_model, init),
      positions_(std::make_shared<SinusoidalPositions>(config_.seq_len, config_.d_model)) {
  if (config_.tied && task_ == Task::classifier)
    throw Error("[gmlp] a classifier's head can't be tied to the embedding");
  for (std::int64_t i = 0; i < config_.layers; ++i)
    blocks_.emplace_back(config_.d_model, config_.d_ffn, config_.seq_len, init.child(static_cast<std::uint64_t>(2 + i)),
                         config_.dropout);
  if (!config_.tied) head_.emplace(config_.d_model, outputs_, init.child(1));
}

// tokens (n, b), the first at position `first`: x (n, b, d_model) = √d_model · E[token] + P[position].
Tensor Gmlp::embed(const Tensor& tokens, std::int64_t first) const {
  const Tensor x = scale(embedding_(tokens), std::sqrt(static_cast<double>(config_.d_model)));
  if (!config_.positions) return in_precision(x, precision());
  const std::int64_t n = tokens.size(0);
  const Tensor places = reshape((*positions_)(first, n, x.dtype()), {n, 1, config_.d_model});
  return in_precision(add(x, places), precision());
}

// W norm(x) + b, or E norm(x) if the head is tied.
Tensor Gmlp::head(const Tensor& x) const { return head_ ? (*head_)(norm_(x)) : embedding_.logits(norm_(x)); }

// x = embed(tokens);  x = block(x) for each block;  logits = head(x), or head of x's mean over the tokens.
Tensor Gmlp::operator()(const Tensor& tokens, const Random* dropout) const {
  return guard_memory("gmlp", [&] {
    check_tokens("gmlp", tokens, config_.seq_len);
    const SpatialMask mask = task_ == Task::causal_lm ? SpatialMask::causal() : SpatialMask();
    Tensor x = embed(transpose(tokens, 0, 1), 0);  // (n, b, d_model)
    x = through_layers(blocks_, std::move(x), dropout, 0, recomputes(),
                       [mask](const GmlpBlock& block, const Tensor& in, const Random* random) {
                         return block(in, mask, random);  // (n, b, d_model)
                       });
    if (task_ != Task::classifier) return transpose(head(x), 0, 1);  // (b, n, vocabulary)
    return head(mean_of_tokens(transpose(x, 0, 1), tokens));         // (b, classes)
  });
}

Architecture Gmlp::architecture() {
  return {"gmlp", {Task::causal_lm, Task::masked_lm, Task::classifier}, config_fields<GmlpConfig>(), make_as<Gmlp>};
}

}  // namespace weft
