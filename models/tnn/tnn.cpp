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
  const double d1 = std::floor(config.expand_ratio * static_cast<double>(config.d_model));
  if (!(d1 >= 1 && d1 < 0x1p31))
    throw Error("[tnn] expected floor(expand_ratio · d_model) of 1 to 2147483647, got " + nlohmann::json(d1).dump());
  if (std::fmod(d1, static_cast<double>(config.heads)) != 0)
    throw Error("[tnn] expected heads that divide floor(expand_ratio · d_model) = " +
                std::to_string(static_cast<std::int64_t>(d1)) + ", got " + std::to_string(config.heads));
  if (config.glu_dim == 0) config.glu_dim = config.d_model;
  for (std::string* act : {&config.act, &config.rpe_act, &config.glu_act, &config.act_type})
    *act = activation_name(activation_from_name(*act));  // weft's name, if the config has another
  return config;
}

NormType final_norm(const TnnConfig& config) {
  return norm_type_from_name(config.final_norm.empty() ? config.norm_type : config.final_norm);
}

}  // namespace

Tnn::Tnn(const ModelSpec& spec, const Init& init)
    : ModelOf(spec, checked(config_from_json<TnnConfig>("tnn", spec.config))),
      embedding_(spec.vocabulary, config_.d_model, init.child(0), 1 / std::sqrt(static_cast<double>(config_.d_model))),
      norm_(final_norm(config_), config_.d_model, init) {
  for (std::int64_t i = 0; i < config_.layers; ++i)
    layers_.emplace_back(config_.d_model, config_, task_ == Task::causal_lm,
                         init.child(static_cast<std::uint64_t>(2 + i)));
  const bool classifies = task_ == Task::classifier;
  if (classifies || !config_.tied) head_.emplace(config_.d_model, outputs_, init.child(1), classifies);
}

// A classifier's head is never tied.
std::string Tnn::config_for(Task task) const {
  TnnConfig config = config_;
  if (task == Task::classifier) config.tied = TnnConfig().tied;
  return config_to_json(config);
}

// tokens (b, n): √d_model · E[token], (b, n, d_model).
Tensor Tnn::embed(const Tensor& tokens) const {
  return in_precision(scale(embedding_(tokens), std::sqrt(static_cast<double>(config_.d_model))), precision());
}

// x (…, d_model): W norm(x) + b, without b for a language model, or E norm(x) if the head is tied; (…, outputs).
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

Architecture Tnn::architecture() {
  return {"tnn", {Task::causal_lm, Task::masked_lm, Task::classifier}, config_fields<TnnConfig>(), make_as<Tnn>};
}

}  // namespace weft
