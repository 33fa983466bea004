// Writes TNNs for fairseq and tnn-pytorch.
#include <cmath>

#include "formats/state_dict.h"
#include "formats/tnn_formats.h"

namespace weft::detail::tnn_formats {
namespace {

using nlohmann::ordered_json;

std::int64_t channels(const TnnConfig& config) {
  return static_cast<std::int64_t>(std::floor(config.expand_ratio * static_cast<double>(config.d_model)));
}

std::string last_norm(const TnnConfig& config) {
  return config.final_norm.empty() ? config.norm_type : config.final_norm;
}

void check(const TnnFormat& format, TnnConfig config, Task task) {
  const auto has_no = [&](const std::string& what) {
    refuse_to_write(format.name, "the format does not support " + what);
  };
  if (format.is_fairseq && !config.prenorm) has_no("norms after the mixers, but before the sums");
  if (format.is_fairseq && !config.bias) has_no("gated Toeplitz units without biases");
  if (format.is_fairseq && last_norm(config) != "layernorm") has_no("a norm before the head other than layernorm");
  if (config.par_type == 4) has_no("positions as waves (par_type 4)");
  if (config.time_scales > 0) has_no("time_scales");
  if (config.exponentials > 0) has_no("exponentials");
  if (task != Task::causal_lm && config.head != "mean") has_no("the head \"" + config.head + "\"");
  if (task != Task::causal_lm && config.causal) has_no("causal layers for the task " + std::string(task_name(task)));
  for (std::string* act : {&config.act, &config.rpe_act, &config.act_type, &config.glu_act})
    if (activation_there(activation_from_name(*act)) == nullptr) has_no("the activation " + *act);
}

ordered_json arguments_of(const TnnFormat& format, TnnConfig config, Task task) {
  ordered_json all;
  const auto fill = [&](const Argument& argument, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      all[argument.theirs] =
          is_activation(argument.ours) ? activation_there(activation_from_name(value)) : value.c_str();
    else all[argument.theirs] = value;
  };
  const ConfigFieldRefs fields = config_field_refs(config);
  for (const Argument& argument : format.arguments)
    for (const ConfigFieldRef& field : fields)
      if (std::string(field.name) == argument.ours)
        std::visit([&](const auto* value) { fill(argument, *value); }, field.value);
  all["gamma"] = config.gamma;
  all["expand_ratio"] = config.expand_ratio;
  all["causal"] = task == Task::causal_lm;
  all["fina_act"] = "None";
  if (!format.is_fairseq) {
    all["dim"] = config.d_model;
    return all;
  }
  for (const char* width : {"decoder_embed_dim", "decoder_input_dim", "decoder_output_dim"})
    all[width] = config.d_model;
  all["decoder_layers"] = config.layers;
  all["share_decoder_input_output_embed"] = config.tied;
  all["no_token_positional_embeddings"] = true;
  all["no_decoder_final_norm"] = all["no_scale_embedding"] = all["resi_param"] = false;
  all["glu_type"] = 1;
  return all;
}

}  // namespace

std::vector<std::string> save(const TnnFormat& format, const std::string& folder, const Checkpoint& checkpoint) {
  const Model& model = *checkpoint.model;
  check_writable(format.name, model, TnnConfig::arch, format.tasks);
  const auto config = config_from_json<TnnConfig>(TnnConfig::arch, model.config());
  check(format, config, model.task());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : model.parameters()) {
    tensors.emplace_back(their(format, name), parameter.value());
    if (format.is_fairseq && config.tied && name == "embedding.weight")
      tensors.emplace_back(their(format, "head.weight"), parameter.value());
  }
  for (std::int64_t i = 0; config.use_decay && i < config.layers; ++i)
    tensors.emplace_back(their(format, "layers." + std::to_string(i) + ".token_mixer.toep.gamma"),
                         Tensor::full({config.heads, 1, channels(config) / config.heads}, config.gamma));
  if (format.is_fairseq) tensors.emplace_back(version_name, Tensor::full({1}, 3));
  ordered_json arguments = arguments_of(format, config, model.task());
  arguments.erase("tokens_per_sample");  // the value in the config may be only a default
  if (format.is_fairseq && checkpoint.info.length > 0) arguments["tokens_per_sample"] = checkpoint.info.length;
  auto notes = save_state_dict(folder, checkpoint, tensors, arguments);
  if (config.use_decay && static_cast<float>(config.gamma) != config.gamma)
    notes.push_back("this format stores gamma in f32: " + nlohmann::json(config.gamma).dump() + " becomes " +
                    nlohmann::json(static_cast<double>(static_cast<float>(config.gamma))).dump());
  return notes;
}

}  // namespace weft::detail::tnn_formats
