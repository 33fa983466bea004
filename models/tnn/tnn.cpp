// TNN language models and classifier (arXiv 2305.04749): embedding, layers, norm, head.
#include "weft/tnn.h"

#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

TnnConfig checked(TnnConfig config) {
  const struct {
    const char* key;
    std::int64_t value, lowest;
  } sizes[] = {{"d_model", config.d_model, 1}, {"layers", config.layers, 0},         {"heads", config.heads, 1},
               {"rpe_dim", config.rpe_dim, 1}, {"rpe_layers", config.rpe_layers, 0}, {"glu_dim", config.glu_dim, 0},
               {"seq_len", config.seq_len, 1}};
  for (const auto& size : sizes) check_size("tnn", size.key, size.value, size.lowest);
  const double d1 = std::floor(config.expand_ratio * static_cast<double>(config.d_model));
  if (!(d1 >= 1 && d1 < 0x1p31))
    throw Error("[tnn] expected floor(expand_ratio · d_model) of 1 to 2147483647, got " + nlohmann::json(d1).dump());
  if (std::fmod(d1, static_cast<double>(config.heads)) != 0)
    throw Error("[tnn] expected heads that divide floor(expand_ratio · d_model) = " +
                std::to_string(static_cast<std::int64_t>(d1)) + ", got " + std::to_string(config.heads));
  if (!(config.dropout >= 0 && config.dropout < 1))
    throw Error("[tnn] expected 0 <= dropout < 1, got " + std::to_string(config.dropout));
  if (config.glu_dim == 0) config.glu_dim = config.d_model;
  return config;
}

TnnLayerOptions layer_options(const TnnConfig& c, bool causal) {
  TnnLayerOptions layer;
  layer.glu_dim = c.glu_dim;
  layer.glu_act = activation_from_name(c.glu_act);
  layer.prenorm = c.prenorm;
  layer.dropout = c.dropout;
  GtuOptions& gtu = layer.gtu;
  gtu.num_heads = c.heads;
  gtu.act_fun = activation_from_name(c.act);
  gtu.expand_ratio = c.expand_ratio;
  gtu.use_norm = c.use_norm;
  TnoOptions& tno = gtu.tno;
  tno.causal = causal;
  tno.use_decay = c.use_decay;
  tno.use_multi_decay = c.use_multi_decay;
  tno.gamma = c.gamma;
  tno.par_type = c.par_type;
  tno.act_type = activation_from_name(c.act_type);
  tno.normalize = c.normalize;
  RpeOptions& rpe = tno.rpe;
  rpe.dim = c.rpe_dim;
  rpe.layers = c.rpe_layers;
  rpe.residual = c.rpe_residual;
  rpe.act = activation_from_name(c.rpe_act);
  layer.norm_type = gtu.norm_type = rpe.norm_type = norm_type_from_name(c.norm_type);
  layer.bias = gtu.bias = rpe.bias = c.bias;
  return layer;
}

NormType final_norm(const TnnConfig& config) {
  return norm_type_from_name(config.final_norm.empty() ? config.norm_type : config.final_norm);
}

}  // namespace

Tnn::Tnn(const ModelSpec& spec, const Init& init)
    : config_(checked(config_from_json<TnnConfig>("tnn", spec.config))),
      task_(spec.task),
      vocabulary_(spec.vocabulary),
      outputs_(spec.task == Task::classifier ? spec.classes : spec.vocabulary),
      embedding_(spec.vocabulary, config_.d_model, init.child(0), 1 / std::sqrt(static_cast<double>(config_.d_model))),
      norm_(final_norm(config_), config_.d_model, init) {
  const TnnLayerOptions options = layer_options(config_, task_ == Task::causal_lm);
  for (std::int64_t i = 0; i < config_.layers; ++i)
    layers_.emplace_back(config_.d_model, options, init.child(static_cast<std::uint64_t>(2 + i)));
  const bool classifies = task_ == Task::classifier;
  if (classifies || !config_.tied) head_.emplace(config_.d_model, outputs_, init.child(1), classifies);
}

std::string Tnn::config() const { return config_to_json(config_); }

// A classifier has no head that could be tied.
std::string Tnn::config_for(Task task) const {
  TnnConfig config = config_;
  if (task == Task::classifier) config.tied = TnnConfig().tied;
  return config_to_json(config);
}

// tokens (b, n): √d_model · E[token], (b, n, d_model).
Tensor Tnn::embed(const Tensor& tokens) const {
  return in_precision(scale(embedding_(tokens), std::sqrt(static_cast<double>(config_.d_model))), precision());
}

// x (…, d_model): W norm(x) + b, without b in a language model, or E norm(x) where the head is tied, (…, outputs).
Tensor Tnn::logits(const Tensor& x) const { return head_ ? (*head_)(norm_(x)) : embedding_.logits(norm_(x)); }

// x = embed(tokens);  x = layer(x) for each layer;  logits(x), or logits(x's mean over the tokens).
Tensor Tnn::operator()(const Tensor& tokens, const Random* dropout) const {
  return guard_memory("tnn", [&] {
    check_tokens("tnn", tokens, 0);
    Tensor x = embed(tokens);  // (b, n, d_model)
    x = through_layers(layers_, std::move(x), dropout, 0, recomputes(),
                       [](const TnnLayer& layer, const Tensor& in, const Random* random) {
                         return layer(in, random);  // (b, n, d_model)
                       });
    if (task_ != Task::classifier) return logits(x);  // (b, n, vocabulary)
    return logits(mean_of_tokens(x, tokens));         // (b, classes)
  });
}

void Tnn::collect(const std::string& prefix, NamedParameters& out) const {
  embedding_.collect(prefix + "embedding.", out);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    layers_[i].collect(prefix + "layers." + std::to_string(i) + ".", out);
  norm_.collect(prefix + "norm.", out);
  if (head_) head_->collect(prefix + "head.", out);
}

Architecture Tnn::architecture() {
  return {"tnn", {Task::causal_lm, Task::masked_lm, Task::classifier}, config_fields<TnnConfig>(), make_as<Tnn>};
}

}  // namespace weft
