// gMLP language models from labml-nn (labml_nn/transformers/gmlp) and from lucidrains' g-mlp-pytorch, as state dicts.
#include <algorithm>
#include <cmath>

#include "checkpoint/load_parameters.h"
#include "formats/formats.h"
#include "formats/gmlp_arguments.h"
#include "formats/labml.h"
#include "formats/state_dict.h"
#include "weft/gmlp.h"

namespace weft::detail {
namespace {

// Describes one of the two formats.
struct GmlpFormat {
  const char *name, *meaning;
  std::vector<NamePair> names;
  bool positions;  // sinusoidal positions are added to the embeddings times √d
  bool has_heads;  // the gate has the shape (1, n, n), and its bias (1, n)
  std::vector<Task> tasks;
};

const GmlpFormat labml_gmlp = {"labml-gmlp",
                               "labml-nn's autoregressive gMLP: its state dict as safetensors",
                               {{"embedding.weight", "src_embed.linear.weight"},
                                {"blocks.*.", "encoder.layers.*."},
                                {"norm.", "encoder.norm."},
                                {"head.", "generator.projection."}},
                               true,
                               false,
                               {Task::causal_lm}};

const GmlpFormat g_mlp_pytorch = {"g-mlp-pytorch",
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

std::string their(const GmlpFormat& format, const std::string& ours) { return their_name(format.names, ours).value(); }

Shape without_first(const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); }

double root(std::int64_t d) { return std::sqrt(static_cast<double>(d)); }

// The config that follows from the shapes of the embedding and the first layer.
GmlpConfig config_in(const SafetensorsFile& file, const GmlpFormat& format) {
  GmlpConfig config;
  config.positions = format.positions;
  config.d_model = size_in(file, their(format, "embedding.weight"), 1);
  config.layers = count_layers(file, format.has_heads ? "layers.*." : "encoder.layers.*.");
  if (config.layers == 0) throw Error("\"" + file.path() + "\" has no tensor " + their(format, "blocks.0.sgu.weight"));
  config.d_ffn = size_in(file, their(format, "blocks.0.proj1.weight"), 0);
  config.seq_len = size_in(file, their(format, "blocks.0.sgu.weight"), format.has_heads ? 1 : 0);
  return config;
}

// Throws an Error if names or shapes of tensors show a feature of g-mlp-pytorch that weft doesn't support.
void check_features(const SafetensorsFile& file, const GmlpFormat& format) {
  const auto fail = [&](const std::string& name, const std::string& what) {
    throw Error("\"" + file.path() + "\": " + name + " belongs to " + what + ", which weft's gMLP does not support");
  };
  for (const std::string& name : file.names()) {
    if (name.find(".attn.") != std::string::npos) fail(name, "tiny attention (attn_dim)");
    if (name.find(".sgu.circulant_pos_") != std::string::npos) fail(name, "a circulant matrix (circulant_matrix)");
  }
  const std::string weight = their(format, "blocks.0.sgu.weight");
  if (file.contains(weight) && file.shape(weight).size() == 3 && file.shape(weight)[0] != 1)
    fail(weight, "a spatial gate of several heads (heads " + std::to_string(file.shape(weight)[0]) + ")");
}

Checkpoint load(const GmlpFormat& format, const std::string& path, const LoadOptions& options) {
  const SafetensorsFile file(state_dict_in(path), opening(options));
  std::optional<GmlpArguments> arguments;
  if (format.has_heads) {
    check_features(file, format);
    arguments.emplace(file);
  }
  const GmlpConfig config = config_in(file, format);
  if (format.positions) labml::check_positions(file, config.d_model, "gMLP");
  const Task task = arguments ? arguments->task(options) : options.task.value_or(Task::causal_lm);
  if (std::find(format.tasks.begin(), format.tasks.end(), task) == format.tasks.end())
    throw Error("\"" + file.path() + "\": " + format.name + " does not support the task " + task_name(task));
  const double shrink = 1 / root(config.d_model);
  const auto rename = [&](const std::string& tensor) -> TensorRole {
    if (format.positions && tensor == labml::position_table) return {};
    const std::string ours = our_name(format.names, tensor).value_or(tensor);
    if (format.has_heads && ours == "embedding.weight")
      return {ours, [=](const Tensor& t) {
                return scale(t.dtype() == DType::bf16 ? raw::convert(t, DType::f32) : t, shrink);
              }};
    if (format.has_heads && (ours.ends_with(".sgu.weight") || ours.ends_with(".sgu.bias")))
      return {ours, [](const Tensor& t) {
                return t.rank() > 1 && t.size(0) == 1 ? reshape(t, without_first(t.shape())) : t;
              }};
    return {ours};
  };
  const std::int64_t vocabulary = size_in(file, their(format, "embedding.weight"), 0);
  Checkpoint made = load_state_dict(file, format.name, model_spec(config, task, vocabulary), rename, options.purpose);
  if (!arguments) return made;
  arguments->check_sizes(config, vocabulary);
  for (const std::string& note : arguments->notes(task)) made.info.notes.push_back(note);
  return made;
}

void check(const GmlpFormat& format, const GmlpConfig& config) {
  if (config.tied) refuse_to_write(format.name, "the format does not support a head that is tied to the embedding");
  if (config.positions != format.positions)
    refuse_to_write(format.name, config.positions ? "the format has no sinusoidal positions"
                                                  : "the format always has sinusoidal positions");
}

std::vector<std::string> save(const GmlpFormat& format, const std::string& folder, const Checkpoint& checkpoint) {
  const Model& model = *checkpoint.model;
  check_writable(format.name, model, GmlpConfig::arch, format.tasks);
  const auto config = config_from_json<GmlpConfig>("gmlp", model.config());
  check(format, config);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : model.parameters()) {
    Tensor value = parameter.value();
    if (format.has_heads && name == "embedding.weight") value = scale(value, root(config.d_model));
    if (format.has_heads && name.ends_with(".sgu.weight")) value = reshape(value, {1, value.size(0), value.size(1)});
    if (format.has_heads && name.ends_with(".sgu.bias")) value = reshape(value, {1, value.size(0)});
    tensors.emplace_back(their(format, name), value);
  }
  if (format.positions) tensors.push_back(labml::positions(config.seq_len, config.d_model));
  nlohmann::ordered_json arguments;  // null if the format has none
  if (format.has_heads) arguments = gmlp_arguments(config, model.task(), model.vocabulary());
  std::vector<std::string> notes = save_state_dict(folder, checkpoint, tensors, arguments);
  if (!format.positions)
    notes.push_back(std::string("construct the model with causal=") +
                    (model.task() == Task::causal_lm ? "True" : "False"));
  return notes;
}

CheckpointFormat made_of(const GmlpFormat& format) {
  CheckpointFormat made;
  made.name = format.name;
  made.meaning = format.meaning;
  made.load = [&format](const std::string& path, const LoadOptions& options) { return load(format, path, options); };
  made.save = [&format](const std::string& folder, const Checkpoint& checkpoint) {
    return save(format, folder, checkpoint);
  };
  return made;
}

}  // namespace

CheckpointFormat labml_gmlp_format() { return made_of(labml_gmlp); }
CheckpointFormat g_mlp_pytorch_format() { return made_of(g_mlp_pytorch); }

}  // namespace weft::detail
