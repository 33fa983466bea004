// Writes Hugging Face's FNet in the format of save_pretrained().
#include <algorithm>

#include "base/file_set.h"
#include "data/labels.h"
#include "formats/huggingface_fnet.h"
#include "formats/huggingface_tokenizer.h"
#include "formats/json_file.h"
#include "formats/state_dict.h"
#include "weft/checkpoint.h"
#include "weft/quantize.h"
#include "weft/safetensors.h"

namespace weft::detail::huggingface {
namespace {

using nlohmann::ordered_json;
using Notes = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& what) {
  throw Error("[huggingface-fnet] " + what + "; nothing was written");
}

const FnetKind& kind_of(Task task, FnetHead head) {
  for (const FnetKind& kind : kinds)  // a masked language model of transformers always has a pooler
    if (kind.task == task &&
        (kind.head == head || (task == Task::masked_lm && head == FnetHead::task && kind.head == FnetHead::pooler)))
      return kind;
  refuse(std::string("the format does not support this head for the task ") + task_name(task));
}

std::string their_activation(const std::string& name) {
  switch (activation_from_name(name)) {
    case Activation::gelu_tanh: return "gelu_new";
    case Activation::leaky_relu: return "leaky_relu";
    case Activation::none: return "linear";
    case Activation::relu: return "relu";
    case Activation::gelu: return "gelu";
    case Activation::silu: return "silu";
    case Activation::sigmoid: return "sigmoid";
    case Activation::tanh: return "tanh";
    default: refuse("the format does not support the activation " + name);
  }
}

std::string their_parameter(const std::string& name, const FnetKind& kind) {
  const std::string own = "classifier.";
  if (name.rfind(own, 0) == 0) return kind.head_prefix + name.substr(own.size());
  const auto found = their_name(names, name);
  if (!found) refuse("the format has no parameter " + name);
  const bool of_head = found->rfind("cls.", 0) == 0, is_base = *kind.head_prefix == '\0';
  return of_head || is_base ? *found : base_prefix + *found;
}

Tensor value_of(const Fnet& model, const std::string& name) {
  for (const auto& [own, parameter] : model.parameters())
    if (own == name) return parameter.value();
  return {};
}

std::vector<std::pair<std::string, Tensor>> tensors_of(const Fnet& model, const FnetConfig& config,
                                                       const FnetKind& kind, Notes& notes) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : model.parameters())
    tensors.emplace_back(their_parameter(name, kind), parameter.value());
  if (kind.task == Task::masked_lm && !config.tied)
    tensors.emplace_back("cls.predictions.decoder.bias", value_of(model, "head.bias"));
  if (kind.task == Task::masked_lm && fnet_head_from_name(config.head) == FnetHead::task) {
    notes.push_back(
        "the model has no pooler: weft wrote zeros for the pooler of transformers' masked language model, which does "
        "not use it");
    const std::string pooler = std::string(base_prefix) + "pooler.dense.";
    tensors.emplace_back(pooler + "weight", Tensor::zeros({config.d_model, config.d_model}));
    tensors.emplace_back(pooler + "bias", Tensor::zeros({config.d_model}));
  }
  return tensors;
}

ordered_json config_of(const Checkpoint& checkpoint, const FnetConfig& config, const FnetKind& kind) {
  const SpecialIds special = checkpoint.tokenizer->special();
  ordered_json all{{"architectures", {kind.architecture}},
                   {"model_type", "fnet"},
                   {"vocab_size", checkpoint.model->vocabulary()},
                   {"hidden_size", config.d_model},
                   {"num_hidden_layers", config.layers},
                   {"intermediate_size", config.ffn_channels()},
                   {"hidden_act", their_activation(config.activation)},
                   {"hidden_dropout_prob", config.dropout},
                   {"max_position_embeddings", config.seq_len},
                   {"type_vocab_size", config.types},
                   {"initializer_range", 0.02},
                   {"layer_norm_eps", config.eps},
                   {"use_tpu_fourier_optimizations", false},
                   {"tpu_short_seq_length", config.seq_len},
                   {"tie_word_embeddings", config.tied},
                   {"bos_token_id", 1},
                   {"eos_token_id", 2},
                   {"torch_dtype", "float32"}};
  all["pad_token_id"] = special.pad ? ordered_json(*special.pad) : ordered_json(nullptr);
  if (kind.task != Task::classifier || kind.head != FnetHead::task) return all;
  all["problem_type"] = "single_label_classification";
  const auto& given = checkpoint.info.labels;
  const auto labels = given.empty() ? numbered_labels(checkpoint.model->outputs()) : given;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    all["id2label"][std::to_string(i)] = labels[i];
    all["label2id"][labels[i]] = i;
  }
  return all;
}

}  // namespace

std::vector<std::string> save_fnet(const std::string& folder, const Checkpoint& checkpoint) try {
  const auto* model = dynamic_cast<const Fnet*>(checkpoint.model.get());
  if (model == nullptr)
    refuse(std::string("the format is for FNet, but this model has the architecture ") + checkpoint.model->arch());
  if (quantized_to(model->parameters())) refuse("the model is quantized: use the original model");
  const auto config = config_from_json<FnetConfig>("fnet", model->config());
  if (norm_place_from_name(config.norm) != NormPlace::post)
    refuse("the format does not support norms placed \"" + config.norm + "\"");
  if (fnet_embeddings_from_name(config.embeddings) != FnetEmbeddingsKind::bert)
    refuse("the format does not support " + config.embeddings + " embeddings");
  const FnetKind& kind = kind_of(model->task(), fnet_head_from_name(config.head));
  Notes notes;
  const auto tensors = tensors_of(*model, config, kind, notes);
  const ordered_json description = config_of(checkpoint, config, kind);
  const os::FolderTurn turn = turn_at(folder);
  FileSet files(folder, Places::together);
  for (const char* former : {config_name, pieces_name, tokenizer_name, tokenizer_config_name}) files.remove(former);
  files.write(model_name, tensors, {{"format", "pt"}});
  write_tokenizer(files, *checkpoint.tokenizer, config.seq_len, notes);
  files.write(config_name, description.dump(2) + "\n");
  files.commit();
  note_padding(checkpoint, notes);
  return notes;
} catch (const std::filesystem::filesystem_error& error) {
  throw Error("[checkpoint] can't write \"" + folder + "\": " + error.code().message());
} catch (const nlohmann::json::exception&) {
  refuse("labels or tokenizer settings are not UTF-8");
}

}  // namespace weft::detail::huggingface
