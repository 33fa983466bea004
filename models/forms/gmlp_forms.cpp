// gMLP language models from labml-nn (labml_nn/transformers/gmlp) and from lucidrains' g-mlp-pytorch, as state dicts.
#include <algorithm>
#include <cmath>

#include "checkpoint/load_parameters.h"
#include "forms/forms.h"
#include "forms/gmlp_arguments.h"
#include "forms/labml.h"
#include "forms/state_dict.h"
#include "weft/gmlp.h"

namespace weft::detail {
namespace {

// Describes one of the two formats.
struct GmlpForm {
  const char *name, *meaning;
  std::vector<NamePair> names;
  bool positions;  // sinusoidal positions are added to the embeddings times √d
  bool has_heads;  // the gate has the shape (1, n, n), and its bias (1, n)
  std::vector<Task> tasks;
};

const GmlpForm labml_gmlp = {"labml-gmlp",
                             "labml-nn's autoregressive gMLP: its state dict as safetensors",
                             {{"embedding.weight", "src_embed.linear.weight"},
                              {"blocks.*.", "encoder.layers.*."},
                              {"norm.", "encoder.norm."},
                              {"head.", "generator.projection."}},
                             true,
                             false,
                             {Task::causal_lm}};

const GmlpForm g_mlp_pytorch = {"g-mlp-pytorch",
                                "a state dict of lucidrains' gMLP; causal unless config.json or --task differs",
                                {{"embedding.weight", "to_embed.weight"},
                                 {"blocks.*.norm.", "layers.*.fn.norm."},
                                 {"blocks.*.proj1.", "layers.*.fn.fn.fn.proj_in.0."},
                                 {"blocks.*.sgu.norm.", "layers.*.fn.fn.fn.sgu.norm."},
                                 {"blocks.*.sgu.weight", "layers.*.fn.fn.fn.sgu.weight"},
                                 {"blocks.*.sgu.bias", "layers.*.fn.fn.fn.sgu.bias"},
                                 {"blocks.*.proj2.", "layers.*.fn.fn.fn.proj_out."},
                                 {"norm.", "to_logits.0."},
                                 {"head.", "to_logits.1."}},
                                false,
                                true,
                                {Task::causal_lm, Task::masked_lm}};

bool ends(const std::string& name, const std::string& ending) {
  return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

std::string their(const GmlpForm& form, const std::string& ours) { return their_name(form.names, ours).value(); }

Shape without_first(const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); }

double root(std::int64_t d) { return std::sqrt(static_cast<double>(d)); }

// The config that follows from the shapes of the embedding and the first layer.
GmlpConfig config_in(const SafetensorsFile& file, const GmlpForm& form) {
  GmlpConfig config;
  config.positions = form.positions;
  config.d_model = size_in(file, their(form, "embedding.weight"), 1);
  config.layers = count_layers(file, form.has_heads ? "layers.*." : "encoder.layers.*.");
  if (config.layers == 0) throw Error("\"" + file.path() + "\" has no tensor " + their(form, "blocks.0.sgu.weight"));
  config.d_ffn = size_in(file, their(form, "blocks.0.proj1.weight"), 0);
  config.seq_len = size_in(file, their(form, "blocks.0.sgu.weight"), form.has_heads ? 1 : 0);
  return config;
}

// Throws an Error if names or shapes of tensors show a feature of g-mlp-pytorch that weft doesn't support.
void check_features(const SafetensorsFile& file, const GmlpForm& form) {
  const auto fail = [&](const std::string& name, const std::string& what) {
    throw Error("\"" + file.path() + "\": " + name + " belongs to " + what + ", which weft's gMLP does not support");
  };
  for (const std::string& name : file.names()) {
    if (name.find(".attn.") != std::string::npos) fail(name, "tiny attention (attn_dim)");
    if (name.find(".sgu.circulant_pos_") != std::string::npos) fail(name, "a circulant matrix (circulant_matrix)");
  }
  const std::string weight = their(form, "blocks.0.sgu.weight");
  if (file.contains(weight) && file.shape(weight).size() == 3 && file.shape(weight)[0] != 1)
    fail(weight, "a spatial gate of several heads (heads " + std::to_string(file.shape(weight)[0]) + ")");
}

Checkpoint load(const GmlpForm& form, const std::string& path, const LoadOptions& options) {
  const SafetensorsFile file(state_dict_in(path), opening(options));
  std::optional<GmlpArguments> arguments;
  if (form.has_heads) {
    check_features(file, form);
    arguments.emplace(file);
  }
  const GmlpConfig config = config_in(file, form);
  if (form.positions) labml::check_positions(file, config.d_model, "gMLP");
  const Task task = arguments ? arguments->task(options) : options.task.value_or(Task::causal_lm);
  if (std::find(form.tasks.begin(), form.tasks.end(), task) == form.tasks.end())
    throw Error("\"" + file.path() + "\": " + form.name + " does not support the task " + task_name(task));
  const double shrink = 1 / root(config.d_model);
  const auto rename = [&](const std::string& tensor) -> TensorRole {
    if (form.positions && tensor == labml::position_table) return {};
    const std::string ours = our_name(form.names, tensor).value_or(tensor);
    if (form.has_heads && ours == "embedding.weight")
      return {ours, [=](const Tensor& t) {
                return scale(t.dtype() == DType::bf16 ? raw::convert(t, DType::f32) : t, shrink);
              }};
    if (form.has_heads && (ends(ours, ".sgu.weight") || ends(ours, ".sgu.bias")))
      return {ours, [](const Tensor& t) {
                return t.rank() > 1 && t.size(0) == 1 ? reshape(t, without_first(t.shape())) : t;
              }};
    return {ours};
  };
  const std::int64_t vocabulary = size_in(file, their(form, "embedding.weight"), 0);
  Checkpoint made = load_state_dict(file, form.name, model_spec(config, task, vocabulary), rename, options.purpose);
  if (!arguments) return made;
  arguments->check_sizes(config, vocabulary);
  for (const std::string& note : arguments->notes(task)) made.info.notes.push_back(note);
  return made;
}

void check(const GmlpForm& form, const GmlpConfig& config) {
  if (config.tied) refuse_to_write(form.name, "the format does not support a head that is tied to the embedding");
  if (config.positions != form.positions)
    refuse_to_write(form.name, config.positions ? "the format has no sinusoidal positions"
                                                : "the format always has sinusoidal positions");
}

std::vector<std::string> save(const GmlpForm& form, const std::string& folder, const Checkpoint& checkpoint) {
  const Model& model = *checkpoint.model;
  check_writable(form.name, model, GmlpConfig::arch, form.tasks);
  const auto config = config_from_json<GmlpConfig>("gmlp", model.config());
  check(form, config);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : model.parameters()) {
    Tensor value = parameter.value();
    if (form.has_heads && name == "embedding.weight") value = scale(value, root(config.d_model));
    if (form.has_heads && ends(name, ".sgu.weight")) value = reshape(value, {1, value.size(0), value.size(1)});
    if (form.has_heads && ends(name, ".sgu.bias")) value = reshape(value, {1, value.size(0)});
    tensors.emplace_back(their(form, name), value);
  }
  if (form.positions) tensors.push_back(labml::positions(config.seq_len, config.d_model));
  nlohmann::ordered_json arguments;  // null if the format has none
  if (form.has_heads) arguments = gmlp_arguments(config, model.task(), model.vocabulary());
  std::vector<std::string> notes = save_state_dict(folder, checkpoint, tensors, arguments);
  if (!form.positions)
    notes.push_back(std::string("construct the model with causal=") +
                    (model.task() == Task::causal_lm ? "True" : "False"));
  return notes;
}

CheckpointForm made_of(const GmlpForm& form) {
  CheckpointForm made;
  made.name = form.name;
  made.meaning = form.meaning;
  made.load = [&form](const std::string& path, const LoadOptions& options) { return load(form, path, options); };
  made.save = [&form](const std::string& folder, const Checkpoint& checkpoint) {
    return save(form, folder, checkpoint);
  };
  return made;
}

}  // namespace

CheckpointForm labml_gmlp_form() { return made_of(labml_gmlp); }
CheckpointForm g_mlp_pytorch_form() { return made_of(g_mlp_pytorch); }

}  // namespace weft::detail
