// FNet models (arXiv 2105.03824): an encoder with a head for the task.
#include "weft/fnet.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/out_of_memory.h"

#include <algorithm>
#include <cmath>

#include "base/sequence.h"

namespace weft {
using namespace detail;

template <>
struct detail::EnumNames<FnetHead> {
  static constexpr const char* what = "fnet head";
  static constexpr EnumName<FnetHead> all[] = {{FnetHead::task, "task"},
                                               {FnetHead::pooler, "pooler"},
                                               {FnetHead::next_sentence, "next-sentence"},
                                               {FnetHead::last, "last"},
                                               {FnetHead::mean, "mean"}};
};

namespace {

constexpr std::int64_t next_sentence_classes = 2;

const char* const no_causal_lm = "the Fourier mixing sees the future";

FnetConfig checked(FnetConfig config) {
  config.d_ffn = config.ffn_channels();
  (void)norm_place_from_name(config.norm);
  config.activation = activation_name(activation_from_name(config.activation));
  (void)fnet_head_from_name(config.head);
  const bool has_types = fnet_embeddings_from_name(config.embeddings) == FnetEmbeddingsKind::bert;
  if (config.separator < -1)
    throw Error("[fnet] expected a separator of at least 0, or -1 for none, got " + std::to_string(config.separator));
  if (config.separator >= 0 && (config.types < 2 || !has_types))
    throw Error("[fnet] a separator needs 2 token types, got " +
                (has_types ? std::to_string(config.types) : config.embeddings + " embeddings, which have none"));
  if (!(config.eps > 0) || !std::isfinite(config.eps))
    throw Error("[fnet] expected a finite eps > 0, got " + std::to_string(config.eps));
  return config;
}

// Whether a model with this head has no pooler.
bool has_no_pooler(FnetHead head) noexcept { return head == FnetHead::last || head == FnetHead::mean; }

void check_classes(FnetHead head, std::int64_t classes, std::int64_t d_model) {
  const auto fail = [&](std::int64_t expected, const std::string& whose) {
    throw Error("[fnet] expected " + std::to_string(expected) + " classes, " + whose + ", got " +
                std::to_string(classes));
  };
  if (head == FnetHead::next_sentence && classes != next_sentence_classes)
    fail(next_sentence_classes, "as many as a next-sentence head has");
  if (head == FnetHead::pooler && classes != d_model) fail(d_model, "as many as the channels of the pooler");
}

// Returns the token types (b, n) of rows with two texts. The tokens after the row's first separator, up to and
// including the second separator, have type 1. All other tokens have type 0. If a row has no second separator, all its
// tokens have type 0.
Tensor types_of(const Tensor& tokens, std::int64_t separator) {
  const std::int64_t b = tokens.size(0), n = tokens.size(1);
  const auto ids = tokens.to_vector<std::int64_t>();
  std::vector<std::int64_t> types(ids.size(), 0);
  for (std::int64_t row = 0; row < b; ++row) {
    const auto begin = ids.begin() + row * n, end = begin + n;
    const auto first = std::find(begin, end, separator);
    const auto second = first == end ? end : std::find(first + 1, end, separator);
    if (second != end)
      std::fill(types.begin() + (first - ids.begin()) + 1, types.begin() + (second - ids.begin()) + 1, 1);
  }
  return Tensor::from(types, {b, n});
}

}  // namespace

FnetHead fnet_head_from_name(const std::string& name) { return enum_from_name<FnetHead>(name); }

Fnet::Fnet(const ModelSpec& spec, const Init& init)
    : ModelOf(spec, checked(config_from_json<FnetConfig>("fnet", spec.config))),
      encoder_(config_, spec.vocabulary, init.child(0), spec.input) {
  if (task_ == Task::causal_lm)
    throw Error(std::string("[fnet] FNet can't be a causal language model, because ") + no_causal_lm +
                "; choose another task, such as masked-lm or classifier");
  const std::int64_t d = config_.d_model;
  const FnetHead head = fnet_head_from_name(config_.head);
  const OutputShape outputs = task_kind(task_).outputs;
  const bool per_row = outputs == OutputShape::per_row, reads_tokens = vocabulary_ > 0;
  if (input_.patches() > config_.seq_len)
    throw Error("[fnet] expected a seq_len of at least " + std::to_string(input_.patches()) +
                ", the number of patches in a picture, got " + std::to_string(config_.seq_len));
  if (per_row) {
    check_classes(head, spec.classes, d);
    if (head == FnetHead::task && config_.layers == 0 && reads_tokens)
      throw Error(
          "[fnet] a model without layers sees only the first token, [CLS], of each text: expected at least 1 "
          "layer, or the head \"mean\"");
  }
  if (!per_row && has_no_pooler(head))
    throw Error("[fnet] the head \"" + config_.head + "\" is only for tasks with one output per row");
  if ((outputs == OutputShape::per_token || (per_row && task_ != Task::classifier)) &&
      (head == FnetHead::pooler || head == FnetHead::next_sentence))
    throw Error("[fnet] the task " + std::string(task_name(task_)) + " does not support the head \"" + config_.head +
                "\"");
  if (head == FnetHead::task ? per_row && reads_tokens : !has_no_pooler(head)) pooler_.emplace(d, init.child(1));
  if (outputs != OutputShape::symbols ? head != FnetHead::pooler : head == FnetHead::next_sentence)
    classes_.emplace(d, outputs != OutputShape::symbols ? outputs_ : next_sentence_classes, init.child(2));
  if (outputs != OutputShape::symbols) return;
  language_model_ =
      LanguageModelHead{Linear(d, d, init.child(3)), LayerNorm(d, init, config_.eps), init.full({outputs_}, 0), {}};
  if (config_.tied) return;
  language_model_->decoder.emplace(d, outputs_, init.child(4), false);
  language_model_->decoder->bias = language_model_->bias;
}

// The config leaves out heads that the task doesn't train. It keeps the heads "last" and "mean" for tasks with one
// output for each row.
std::string Fnet::config_for(Task task) const {
  FnetConfig config = config_;
  const bool per_row = task_kind(task).outputs == OutputShape::per_row;
  if (!per_row || !has_no_pooler(fnet_head_from_name(config.head))) config.head = FnetConfig().head;
  if (task != Task::masked_lm) config.tied = FnetConfig().tied;
  return config_to_json(config);
}

Tensor Fnet::encode(const ModelInput& input, const Tensor& types, const Random* dropout) const {
  check_input("fnet", input, input_, vocabulary_, config_.seq_len);
  const bool by_separator = !types.defined() && config_.separator >= 0 && input.tokens.defined();
  return encoder_(input, by_separator ? types_of(input.tokens, config_.separator) : types, dropout, precision(),
                  recomputes());
}

// E norm(act(transform(x))) + bias, (b, n, vocabulary)
Tensor Fnet::words(const Tensor& x) const {
  const LanguageModelHead& head = *language_model_;
  const Tensor h = head.norm(head.transform(x, activation_from_name(config_.activation)));  // (b, n, d_model)
  return head.decoder ? (*head.decoder)(h) : encoder_.embeddings.word.logits(h, head.bias);
}

// x (b, n, d_model) -> the input of the classifier (b, d_model). The input is tanh(dense(x_0)) or, without a pooler,
// x_(n-1) or the mean of the sequence.
Tensor Fnet::pooled(const Tensor& x, const Tensor& tokens) const {
  if (pooler_) return (*pooler_)(x);
  if (fnet_head_from_name(config_.head) != FnetHead::last) return mean_of_tokens(x, tokens);
  const std::int64_t n = x.size(1);
  return reshape(slice(x, 1, n - 1, n), {x.size(0), x.size(2)});
}

Tensor Fnet::features(const Tensor& tokens) const {
  return guard_memory("fnet", [&] { return encode({tokens, {}}, {}, nullptr); });
}

Tensor Fnet::operator()(const Tensor& tokens, const Random* dropout) const { return forward({tokens, {}}, dropout); }

// x = encoder(input); the logits are words(x), classifier(x) for each token, or classifier(pooled(x)).
Tensor Fnet::forward(const ModelInput& input, const Random* dropout) const {
  return guard_memory("fnet", [&] {
    const Tensor x = encode(input, {}, dropout);  // (b, n, d_model)
    if (language_model_) return words(x);         // (b, n, vocabulary)
    if (task_kind(task_).outputs == OutputShape::per_token) return (*classes_)(x);
    const Tensor seen = pooled(x, input.tokens);  // (b, d_model)
    return classes_ ? in_unit((*classes_)(seen), output_) : seen;
  });
}

FnetOutputs Fnet::run(const Tensor& tokens, const Tensor& types, const Random* dropout) const {
  return guard_memory("fnet", [&] {
    FnetOutputs all;
    all.hidden = encode({tokens, {}}, types, dropout);
    if (pooler_) all.pooled = (*pooler_)(all.hidden);
    if (language_model_) all.words = words(all.hidden);
    if (classes_ && task_kind(task_).outputs == OutputShape::per_token) all.classes = (*classes_)(all.hidden);
    else if (classes_) all.classes = in_unit((*classes_)(pooler_ ? all.pooled : pooled(all.hidden, tokens)), output_);
    return all;
  });
}

Architecture Fnet::architecture() {
  return {"fnet",
          {Task::masked_lm, Task::classifier, Task::regression, Task::multilabel, Task::tagging, Task::forecast,
           Task::retrieval},
          config_fields<FnetConfig>(),
          make_as<Fnet>,
          no_causal_lm};
}

}  // namespace weft
