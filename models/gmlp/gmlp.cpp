// gMLP models (arXiv 2105.08050): embedding, blocks, norm and head.
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
      embedding_(spec.vocabulary == 0 ? Embedding()
                                      : Embedding(spec.vocabulary, config_.d_model, init.child(0),
                                                  embedding_deviation(config_.d_model))),
      norm_(config_.d_model, init),
      positions_(std::make_shared<SinusoidalPositions>(config_.seq_len, config_.d_model)) {
  if (config_.tied && task_kind(task_).outputs != OutputShape::symbols)
    throw Error(std::string("[gmlp] the task ") + task_name(task_) +
                " does not support a head that is tied to the embedding (tied)");
  if (input_.patches() > config_.seq_len)
    throw Error("[gmlp] expected a seq_len of at least " + std::to_string(input_.patches()) +
                ", the number of patches in a picture, got " + std::to_string(config_.seq_len));
  if (input_.defined()) frames_.emplace(input_, config_.d_model, init.child(frames_child));
  for (std::int64_t i = 0; i < config_.layers; ++i)
    blocks_.emplace_back(config_.d_model, config_.d_ffn, config_.seq_len, init.child(static_cast<std::uint64_t>(2 + i)),
                         config_.dropout);
  if (!config_.tied) head_.emplace(config_.d_model, outputs_, init.child(1));
}

// x (n, b, d_model) + P[position], where the first token has the position `first`.
Tensor Gmlp::placed(const Tensor& x, std::int64_t first) const {
  if (!config_.positions) return in_precision(x, precision());
  const std::int64_t n = x.size(0);
  const Tensor places = reshape((*positions_)(first, n, x.dtype()), {n, 1, config_.d_model});
  return in_precision(add(x, places), precision());
}

// tokens (n, b) -> x (n, b, d_model) = √d_model · E[token] + P[position], where the first token has the position
// `first`.
Tensor Gmlp::embed(const Tensor& tokens, std::int64_t first) const {
  return placed(scale(embedding_(tokens), std::sqrt(static_cast<double>(config_.d_model))), first);
}

// Embeds input that may contain frames: x = √d_model · E[token] + W frame + b + P[position]. The first term is missing
// if there are no tokens.
Tensor Gmlp::embed(const ModelInput& input) const {
  if (!frames_) return embed(transpose(input.tokens, 0, 1), 0);
  Tensor x = transpose((*frames_)(input.frames), 0, 1);
  if (input.tokens.defined())
    x = add(x, scale(embedding_(transpose(input.tokens, 0, 1)), std::sqrt(static_cast<double>(config_.d_model))));
  return input_.positions == "architecture" ? placed(x, 0) : in_precision(x, precision());
}

// x = embed(input);  x = block(x) for each block; (n, b, d_model).
Tensor Gmlp::encode(const ModelInput& input, const Random* dropout) const {
  const SpatialMask mask = task_kind(task_).causal ? SpatialMask::causal() : SpatialMask();
  return through_layers(blocks_, embed(input), dropout, 0, recomputes(),
                        [mask](const GmlpBlock& block, const Tensor& in, const Random* random) {
                          return block.tokens_first(in, mask, random);
                        });
}

// W norm(x) + b, or E norm(x) if the head is tied.
Tensor Gmlp::head(const Tensor& x) const { return head_ ? (*head_)(norm_(x)) : embedding_.logits(norm_(x)); }

Tensor Gmlp::features(const Tensor& tokens) const {
  return guard_memory("gmlp", [&] {
    check_input("gmlp", {tokens, {}}, input_, vocabulary_, config_.seq_len);
    return transpose(norm_(encode({tokens, {}}, nullptr)), 0, 1);
  });
}

Tensor Gmlp::operator()(const Tensor& tokens, const Random* dropout) const { return forward({tokens, {}}, dropout); }

// x = encode(input); logits = head(x), or head(mean of x over the sequence).
Tensor Gmlp::forward(const ModelInput& input, const Random* dropout) const {
  return guard_memory("gmlp", [&] {
    check_input("gmlp", input, input_, vocabulary_, config_.seq_len);
    const TaskKind& kind = task_kind(task_);
    const Tensor x = encode(input, dropout);                                          // (n, b, d_model)
    if (kind.outputs != OutputShape::per_row) return transpose(head(x), 0, 1);        // (b, n, outputs)
    return in_unit(head(mean_of_tokens(transpose(x, 0, 1), input.tokens)), output_);  // (b, outputs)
  });
}

Architecture Gmlp::architecture() {
  return {"gmlp",
          {Task::causal_lm, Task::masked_lm, Task::classifier, Task::regression, Task::multilabel, Task::tagging,
           Task::forecast, Task::retrieval},
          config_fields<GmlpConfig>(),
          make_as<Gmlp>};
}

}  // namespace weft
