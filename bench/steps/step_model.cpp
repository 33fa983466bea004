#include "steps/step_model.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "models/examples/attention/attention.h"
#include "operations/kinds.h"
#include "weft/fnet.h"
#include "weft/gmlp.h"
#include "weft/quantize.h"
#include "weft/recompute.h"
#include "weft/tnn.h"

namespace weft::bench {
namespace {

const Init init{Random(1), DType::f32, nullptr};

template <class Block>
using Blocks = std::shared_ptr<std::vector<Block>>;

template <class Block, class Make>
Blocks<Block> stack(const StepSizes& s, StepModel& model, Make make) {
  const auto blocks = std::make_shared<std::vector<Block>>();
  for (std::int64_t i = 0; i < s.layers; ++i) {
    blocks->push_back(make(init.child(static_cast<std::uint64_t>(i))));
    blocks->back().collect(std::to_string(i) + ".", model.parameters);
  }
  return blocks;
}

// The forward pass runs a random x of this shape through all blocks.
template <class Block, class Run>
void run_through(const StepSizes& s, StepModel& model, const Blocks<Block>& blocks, const Shape& shape, Run run) {
  model.x = in_precision(Random(2).normal(shape, 0, 1), s.precision);
  model.forward = [blocks, run, x = model.x, again = s.recompute] {
    Tensor y = x;
    for (const Block& block : *blocks) {
      const auto part = [&block, run](const Inputs& in) { return run(block, in[0]); };
      y = again ? recompute(part, {y}) : part({y});
    }
    return y;
  };
}

// x has the shape (n, b, d), or (b, n, d) if batch_first.
void make_gmlp(const StepSizes& s, StepModel& model) {
  const auto blocks =
      stack<GmlpBlock>(s, model, [&](const Init& own) { return GmlpBlock(s.d_model, s.d_ffn, s.seq_len, own); });
  const SpatialMask causal = SpatialMask::causal();
  if (s.batch_first)
    run_through(s, model, blocks, {s.batch, s.seq_len, s.d_model},
                [causal](const GmlpBlock& block, const Tensor& x) { return block(x, causal); });
  else
    run_through(s, model, blocks, {s.seq_len, s.batch, s.d_model},
                [causal](const GmlpBlock& block, const Tensor& x) { return block.tokens_first(x, causal); });
}

// x has the shape (b, n, d).
template <class Block>
void run_along_batch(const StepSizes& s, StepModel& model, const Blocks<Block>& blocks) {
  run_through(s, model, blocks, {s.batch, s.seq_len, s.d_model},
              [](const Block& block, const Tensor& x) { return block(x); });
}

void make_tnn(const StepSizes& s, StepModel& model) {
  TnnConfig options;
  options.glu_dim = s.glu_dim;
  options.expand_ratio = static_cast<double>(s.expand_ratio);
  options.rpe_dim = s.rpe_dim;
  options.rpe_layers = s.rpe_layers;
  run_along_batch(s, model,
                  stack<TnnLayer>(s, model, [&](const Init& own) { return TnnLayer(s.d_model, options, true, own); }));
}

void make_fnet(const StepSizes& s, StepModel& model) {
  run_along_batch(s, model, stack<FnetLayer>(s, model, [&](const Init& own) {
                    return FnetLayer(s.d_model, s.d_ffn, NormPlace::post, own);
                  }));
}

void make_attention(const StepSizes& s, StepModel& model) {
  const attention::AttentionOptions options{s.heads, true, s.query_block};
  run_along_batch(s, model, stack<attention::Block>(s, model, [&](const Init& own) {
                    return attention::Block(s.d_model, s.d_ffn, options, own);
                  }));
}

Tensor random_tokens(std::uint64_t seed, const StepSizes& s) {
  const Random random(seed);
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < s.batch * s.seq_len; ++i)
    tokens.push_back(
        static_cast<std::int64_t>(random.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(s.vocabulary)));
  return Tensor::from(tokens, {s.batch, s.seq_len});
}

nlohmann::json ffn_config(const StepSizes& s) { return {{"d_ffn", s.d_ffn}}; }

nlohmann::json tnn_config(const StepSizes& s) {
  return {
      {"glu_dim", s.glu_dim}, {"expand_ratio", s.expand_ratio}, {"rpe_dim", s.rpe_dim}, {"rpe_layers", s.rpe_layers}};
}

nlohmann::json attention_config(const StepSizes& s) {
  return {{"d_ffn", s.d_ffn}, {"heads", s.heads}, {"query_block", s.query_block}};
}

double tokens_of(const StepSizes& s) { return static_cast<double>(s.batch) * static_cast<double>(s.seq_len); }

void count_gmlp(const StepSizes& s, StepModel& model) {
  const auto b = static_cast<double>(s.batch), n = static_cast<double>(s.seq_len), d = static_cast<double>(s.d_model),
             layers = static_cast<double>(s.layers), ffn = static_cast<double>(s.d_ffn);
  model.gemm_flops = layers * (2 * tokens_of(s) * (d * ffn + ffn / 2 * d) + 2 * n * n * b * ffn / 2);
}

void count_tnn(const StepSizes& s, StepModel& model) {
  const auto n = static_cast<double>(s.seq_len), d = static_cast<double>(s.d_model),
             layers = static_cast<double>(s.layers), d1 = static_cast<double>(s.expand_ratio) * d,
             r = static_cast<double>(s.rpe_dim), glu = static_cast<double>(s.glu_dim);
  const double rpe = 2 * n * (r + static_cast<double>(s.rpe_layers) * r * r + r * d1);
  model.gemm_flops = layers * (2 * tokens_of(s) * (3 * d * d1 + 3 * d * glu) + rpe);
  model.other_flops = layers * nominal_flops("toeplitz", {s.batch, s.seq_len, s.expand_ratio * s.d_model});
}

void count_fnet(const StepSizes& s, StepModel& model) {
  const auto d = static_cast<double>(s.d_model), layers = static_cast<double>(s.layers),
             ffn = static_cast<double>(s.d_ffn);
  model.gemm_flops = layers * 2 * tokens_of(s) * 2 * d * ffn;
  model.other_flops = layers * nominal_flops("mix", {s.batch, s.seq_len, s.d_model});
  if (s.vocabulary > 0)
    model.gemm_flops += 2 * tokens_of(s) * 2 * d * d;  // the projections after the embeddings and before the decoder
}

// Counts all n² scores, although half of them are masked.
void count_attention(const StepSizes& s, StepModel& model) {
  const auto b = static_cast<double>(s.batch), n = static_cast<double>(s.seq_len), d = static_cast<double>(s.d_model),
             layers = static_cast<double>(s.layers), ffn = static_cast<double>(s.d_ffn);
  model.gemm_flops = layers * (2 * tokens_of(s) * (4 * d * d + 2 * d * ffn) + 4 * n * n * b * d);
}

// The properties of one model.
struct Kind {
  StepSizes sizes;  // the default sizes
  void (*make_blocks)(const StepSizes&, StepModel&);
  nlohmann::json (*config)(const StepSizes&);         // the fields that only this model has
  void (*count_flops)(const StepSizes&, StepModel&);  // all flops except those of the product with the vocabulary
};

const Kind kinds[] = {
    {{.model = "gmlp"}, make_gmlp, ffn_config, count_gmlp},
    {{.model = "tnn", .layers = 7}, make_tnn, tnn_config, count_tnn},
    {{.model = "fnet", .d_model = 768, .layers = 12, .d_ffn = 3072}, make_fnet, ffn_config, count_fnet},
    {{.model = "attention"}, make_attention, attention_config, count_attention},
};

const Kind& kind_of(const std::string& model) {
  for (const Kind& kind : kinds)
    if (kind.sizes.model == model) return kind;
  throw Error("expected gmlp, tnn, fnet or attention, got " + model);
}

void make_language_model(const StepSizes& s, StepModel& model) {
  nlohmann::json config = {{"d_model", s.d_model}, {"layers", s.layers}, {"seq_len", s.seq_len}};
  config.update(kind_of(s.model).config(s));
  if (s.model == "attention") register_architecture(attention::Transformer::architecture());
  const Task task = usual_task(architecture(s.model), Source::text);
  const std::shared_ptr<Model> made = make_model({s.model, task, s.vocabulary, 0, config.dump()}, init);
  made->set_precision(s.precision);
  made->set_recompute(s.recompute);
  model.parameters = made->parameters();
  model.x = random_tokens(2, s);
  model.target = random_tokens(3, s);
  model.forward = [made, tokens = model.x] { return (*made)(tokens); };
}

}  // namespace

StepSizes default_sizes(const std::string& model) { return kind_of(model).sizes; }

StepModel make_step_model(const StepSizes& s) {
  const Kind& kind = kind_of(s.model);
  StepModel model;
  if (s.vocabulary > 0) make_language_model(s, model);
  else kind.make_blocks(s, model);
  if (s.int8) quantize(model.parameters, Quantization::int8);
  kind.count_flops(s, model);
  model.gemm_flops += 2 * tokens_of(s) * static_cast<double>(s.d_model) * static_cast<double>(s.vocabulary);
  return model;
}

Tensor step_loss(const StepModel& model) {
  const Tensor y = model.forward();
  return model.target.defined() ? cross_entropy(y, model.target) : mean(square(y));
}

}  // namespace weft::bench
