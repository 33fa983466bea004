// FNet masked language model and classifier (arXiv 2105.03824): encoder and head.
#include "weft/fnet.h"
#include "weft/detail/out_of_memory.h"

#include <cmath>

namespace weft {
using namespace detail;

namespace {

const char* const no_causal_lm = "the Fourier mixing sees the future";

FnetConfig checked(FnetConfig config) {
  check_size("fnet", "d_model", config.d_model, 1);
  check_size("fnet", "layers", config.layers, 0);
  check_size("fnet", "seq_len", config.seq_len, 1);
  check_size("fnet", "types", config.types, 1);
  check_size("fnet", "d_ffn", config.d_ffn, 0);
  config.d_ffn = config.ffn_channels();
  (void)norm_place_from_name(config.norm);
  (void)activation_from_name(config.activation);
  if (!(config.eps > 0) || !std::isfinite(config.eps))
    throw Error("[fnet] expected a finite eps > 0, got " + std::to_string(config.eps));
  if (!(config.dropout >= 0 && config.dropout < 1))
    throw Error("[fnet] expected 0 <= dropout < 1, got " + std::to_string(config.dropout));
  return config;
}

}  // namespace

Fnet::Fnet(const ModelSpec& spec, const Init& init)
    : config_(checked(config_from_json<FnetConfig>("fnet", spec.config))),
      task_(spec.task),
      vocabulary_(spec.vocabulary),
      outputs_(spec.task == Task::classifier ? spec.classes : spec.vocabulary),
      encoder_(config_, spec.vocabulary, init.child(0)) {
  if (task_ == Task::causal_lm)
    throw Error(std::string("[fnet] a causal language model is refused: ") + no_causal_lm +
                "; train a masked-lm or a classifier");
  const std::int64_t d = config_.d_model;
  if (task_ == Task::classifier)
    classifier_ = ClassifierHead{FnetPooler(d, init.child(1)), Linear(d, outputs_, init.child(2))};
  else
    language_model_ =
        LanguageModelHead{Linear(d, d, init.child(3)), LayerNorm(d, init, config_.eps), init.full({outputs_}, 0)};
}

std::string Fnet::config() const { return config_to_json(config_); }

// x = encoder(tokens);  logits = E norm(act(transform(x))) + bias, or classifier(tanh(dense(x_0))).
Tensor Fnet::operator()(const Tensor& tokens, const Random* dropout) const {
  return guard_memory("fnet", [&] {
    const Tensor x = encoder_(tokens, {}, dropout, precision());              // (b, n, d_model)
    if (classifier_) return classifier_->classifier(classifier_->pooler(x));  // (b, classes)
    const Activation act = activation_from_name(config_.activation);
    const Tensor h = language_model_->norm(language_model_->transform(x, act));  // (b, n, d_model)
    return encoder_.embeddings.word.logits(h, language_model_->bias);            // (b, n, vocabulary)
  });
}

void Fnet::collect(const std::string& prefix, NamedParameters& out) const {
  encoder_.collect(prefix + "encoder.", out);
  if (classifier_) {
    classifier_->pooler.collect(prefix + "pooler.", out);
    classifier_->classifier.collect(prefix + "classifier.", out);
  } else {
    language_model_->transform.collect(prefix + "head.transform.", out);
    language_model_->norm.collect(prefix + "head.norm.", out);
    out.emplace_back(prefix + "head.bias", language_model_->bias);
  }
}

// The presets: the paper's base model, and the classifier of labml.ai's experiment on AG News: sizes, ReLU, the eps of
// PyTorch's LayerNorm.
Architecture Fnet::architecture() {
  return {"fnet",
          {Task::masked_lm, Task::classifier},
          config_fields<FnetConfig>(),
          make_as<Fnet>,
          {{"fnet-base", Task::masked_lm, 32000, 0, R"({"d_model":768,"d_ffn":3072,"layers":12,"seq_len":512})"},
           {"fnet-classifier", Task::classifier, 32000, 4,
            R"({"d_model":512,"d_ffn":2048,"layers":6,"seq_len":512,"norm":"pre","activation":"relu",)"
            R"("eps":1e-5})"}},
          no_causal_lm};
}

}  // namespace weft
