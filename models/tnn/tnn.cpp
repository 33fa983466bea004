// TNN models (arXiv 2305.04749): embedding, layers, norm and head.
#include "weft/tnn.h"

#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/sequence.h"
#include "tnn/kept_lags.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

template <>
struct detail::EnumNames<TnnHead> {
  static constexpr const char* what = "tnn head";
  static constexpr EnumName<TnnHead> all[] = {{TnnHead::mean, "mean"}, {TnnHead::last, "last"}};
};

TnnHead tnn_head_from_name(const std::string& name) { return enum_from_name<TnnHead>(name); }

namespace {

TnnConfig checked(TnnConfig config) {
  const double d1 = std::floor(config.expand_ratio * static_cast<double>(config.d_model));
  if (!(d1 >= 1 && d1 < 0x1p31))
    throw Error("[tnn] expected floor(expand_ratio · d_model) of 1 to 2147483647, got " + nlohmann::json(d1).dump());
  if (std::fmod(d1, static_cast<double>(config.heads)) != 0)
    throw Error("[tnn] expected heads that divide floor(expand_ratio · d_model) = " +
                std::to_string(static_cast<std::int64_t>(d1)) + ", got " + std::to_string(config.heads));
  (void)tnn_head_from_name(config.head);  // throws an Error if there is no such head
  if (config.glu_dim == 0) config.glu_dim = config.d_model;
  for (std::string* act : {&config.act, &config.rpe_act, &config.glu_act, &config.act_type})
    *act = activation_name(activation_from_name(*act));  // replaces other names of an activation with weft's names
  return config;
}

NormType final_norm(const TnnConfig& config) {
  return norm_type_from_name(config.final_norm.empty() ? config.norm_type : config.final_norm);
}

}  // namespace

Tnn::Tnn(const ModelSpec& spec, const Init& init)
    : ModelOf(spec, checked(config_from_json<TnnConfig>("tnn", spec.config))),
      embedding_(spec.vocabulary == 0 ? Embedding()
                                      : Embedding(spec.vocabulary, config_.d_model, init.child(0),
                                                  1 / std::sqrt(static_cast<double>(config_.d_model)))),
      norm_(final_norm(config_), config_.d_model, init),
      kept_lags_(std::make_shared<KeptLags>()) {
  const TaskKind& kind = task_kind(task_);
  if (input_.defined()) frames_.emplace(input_, config_.d_model, init.child(frames_child));
  const PatchGrid grid = mixing_grid("tnn", config_.mixing, input_);
  for (std::int64_t i = 0; i < config_.layers; ++i)
    layers_.emplace_back(config_.d_model, config_, kind.causal || config_.causal,
                         init.child(static_cast<std::uint64_t>(2 + i)), grid);
  const bool is_language_model = kind.outputs == OutputShape::symbols;
  if (!is_language_model || !config_.tied) head_.emplace(config_.d_model, outputs_, init.child(1), !is_language_model);
}

// Only the head of a language model can be tied.
std::string Tnn::config_for(Task task) const {
  TnnConfig config = config_;
  if (task_kind(task).outputs != OutputShape::symbols) config.tied = TnnConfig().tied;
  return config_to_json(config);
}

// tokens (b, n) -> √d_model · E[token], (b, n, d_model).
Tensor Tnn::embed(const Tensor& tokens) const {
  return in_precision(scale(embedding_(tokens), std::sqrt(static_cast<double>(config_.d_model))), precision());
}

// Embeds input that may contain frames: √d_model · E[token] + W frame + b. The first term is missing if there are no
// tokens.
Tensor Tnn::embed(const ModelInput& input) const {
  if (!frames_) return embed(input.tokens);
  const Tensor x = (*frames_)(input.frames);
  if (!input.tokens.defined()) return in_precision(x, precision());
  const Tensor words = scale(embedding_(input.tokens), std::sqrt(static_cast<double>(config_.d_model)));
  return in_precision(add(x, words), precision());
}

// x = embed(input);  x = layer(x) for each layer; (b, n, d_model).
Tensor Tnn::encode(const ModelInput& input, const Random* dropout) const {
  return through_layers(
      layers_, embed(input), dropout, 0, recomputes(),
      [](const TnnLayer& layer, const Tensor& in, const Random* random) { return layer(in, random); });
}

// x (…, d_model) -> W norm(x) + b (…, outputs). A language model has no b. If the head is tied, W is the embedding E.
Tensor Tnn::logits(const Tensor& x) const { return head_ ? (*head_)(norm_(x)) : embedding_.logits(norm_(x)); }

// The forward pass over tokens (b, n) of a stream, whose Tno of each layer is replaced by `mix`. Returns the logits for
// the last token of each row, (b, vocabulary).
Tensor Tnn::last_logits(const Tensor& tokens,
                        const std::function<Tensor(const Tensor& v, std::size_t layer)>& mix) const {
  const std::int64_t b = tokens.size(0), n = tokens.size(1);
  Tensor x = embed(tokens);  // (b, n, d_model)
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    x = layers_[layer](x, nullptr, [&](const Tensor& v) { return mix(v, layer); });
  return reshape(logits(slice(x, 1, n - 1, n)), {b, outputs_});
}

Tensor Tnn::features(const Tensor& tokens) const {
  return guard_memory("tnn", [&] {
    check_input("tnn", {tokens, {}}, input_, vocabulary_, 0);
    return norm_(encode({tokens, {}}, nullptr));
  });
}

Tensor Tnn::operator()(const Tensor& tokens, const Random* dropout) const { return forward({tokens, {}}, dropout); }

// x = encode(input); the result is logits(x), or logits(mean of x over the sequence), or logits(last x).
Tensor Tnn::forward(const ModelInput& input, const Random* dropout) const {
  return guard_memory("tnn", [&] {
    check_input("tnn", input, input_, vocabulary_, 0);
    const Tensor x = encode(input, dropout);                                 // (b, n, d_model)
    if (task_kind(task_).outputs != OutputShape::per_row) return logits(x);  // (b, n, outputs)
    const auto pooled = tnn_head_from_name(config_.head) == TnnHead::last ? last_token : mean_of_tokens;
    return in_unit(logits(pooled(x, input.tokens)), output_);  // (b, outputs)
  });
}

Architecture Tnn::architecture() {
  return {"tnn",
          {Task::causal_lm, Task::masked_lm, Task::classifier, Task::regression, Task::multilabel, Task::tagging,
           Task::forecast, Task::retrieval},
          config_fields<TnnConfig>(),
          make_as<Tnn>};
}

}  // namespace weft
