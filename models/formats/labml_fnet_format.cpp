// FNet classifiers from labml-nn (labml_nn/transformers/fnet/experiment.py), as state dicts.
#include "base/sequence.h"
#include "checkpoint/load_parameters.h"
#include "formats/formats.h"
#include "formats/labml.h"
#include "formats/state_dict.h"
#include "weft/fnet.h"

namespace weft::detail {
namespace {

const char* const format_name = "labml-fnet";

const std::vector<NamePair> names = {{"encoder.embeddings.word.weight", "src_embed.linear.weight"},
                                     {"encoder.layers.*.mixing_norm.", "encoder.layers.*.norm_self_attn."},
                                     {"encoder.layers.*.proj1.", "encoder.layers.*.feed_forward.layer1."},
                                     {"encoder.layers.*.proj2.", "encoder.layers.*.feed_forward.layer2."},
                                     {"encoder.layers.*.output_norm.", "encoder.layers.*.norm_ff."},
                                     {"encoder.norm.", "encoder.norm."},
                                     {"classifier.", "generator."}};

// The settings that the tensors don't show. They are those of experiment.py and the defaults of PyTorch's LayerNorm.
FnetConfig usual_config() {
  FnetConfig config;
  config.norm = "pre";
  config.activation = "relu";
  config.eps = 1e-5;
  config.embeddings = "sinusoidal";
  config.head = "last";
  return config;
}

void check_features(const SafetensorsFile& file) {
  const struct {
    const char *part, *what;
  } all[] = {{".self_attn.", "attention in place of the Fourier mixing"},
             {".feed_forward.linear_v.", "a gated feed-forward network (is_gated)"},
             {".src_attn.", "attention to another sequence"}};
  for (const std::string& name : file.names())
    for (const auto& feature : all)
      if (name.find(feature.part) != std::string::npos)
        throw Error("\"" + file.path() + "\": " + name + " belongs to " + feature.what +
                    ", which weft's FNet does not support");
}

Checkpoint load(const std::string& path, const LoadOptions& options) {
  const SafetensorsFile file(state_dict_in(path), opening(options));
  if (options.task.value_or(Task::classifier) != Task::classifier)
    throw Error("\"" + file.path() + "\": " + format_name + " does not support the task " + task_name(*options.task));
  FnetConfig config = usual_config();
  config.d_model = size_in(file, "src_embed.linear.weight", 1);
  config.layers = count_layers(file, "encoder.layers.*.");
  if (config.layers > 0) config.d_ffn = size_in(file, "encoder.layers.0.feed_forward.layer1.weight", 0);
  config.seq_len =
      file.contains(labml::position_table) ? size_in(file, labml::position_table, 0) : labml::usual_positions;
  check_features(file);
  labml::check_positions(file, config.d_model, "FNet");
  const auto rename = [](const std::string& tensor) -> TensorRole {
    if (tensor == labml::position_table) return {};
    return {our_name(names, tensor).value_or(tensor)};
  };
  const std::int64_t vocabulary = size_in(file, "src_embed.linear.weight", 0);
  const std::int64_t classes = size_in(file, "generator.weight", 0);
  const ModelSpec spec = model_spec(config, Task::classifier, vocabulary, classes);
  Checkpoint made = load_state_dict(file, format_name, spec, rename, options.purpose);
  made.info.notes.emplace_back("the tensors don't show the activation: weft assumes relu, as in labml-nn");
  made.info.notes.emplace_back("rows end with [CLS], the token that is classified, and are padded before it");
  return made;
}

void check(const FnetConfig& config) {
  const FnetConfig usual = usual_config();
  const auto has = [](const std::string& what) { refuse_to_write(format_name, "the format does not support " + what); };
  if (config.embeddings != usual.embeddings) has("embeddings of the kind " + config.embeddings);
  if (config.head != usual.head) has("the head \"" + config.head + "\"");
  if (config.norm != usual.norm) has("norms placed \"" + config.norm + "\"");
  if (activation_from_name(config.activation) != Activation::relu) has("the activation " + config.activation);
  if (config.eps != usual.eps) has("an eps of norms other than 1e-5");
}

std::vector<std::string> save(const std::string& folder, const Checkpoint& checkpoint) {
  const Model& model = *checkpoint.model;
  check_writable(format_name, model, FnetConfig::arch, {Task::classifier});
  const auto config = config_from_json<FnetConfig>(FnetConfig::arch, model.config());
  check(config);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : model.parameters())
    tensors.emplace_back(their_name(names, name).value(), parameter.value());
  tensors.push_back(labml::positions(config.seq_len, config.d_model));
  return save_state_dict(folder, checkpoint, tensors);
}

}  // namespace

CheckpointFormat labml_fnet_format() {
  return {format_name, "labml-nn's FNet classifier: its state dict as safetensors", {}, load, save};
}

}  // namespace weft::detail
