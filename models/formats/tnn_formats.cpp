// Reads TNNs of fairseq and tnn-pytorch.
#include "formats/tnn_formats.h"

#include <cmath>
#include <limits>

#include "checkpoint/load_parameters.h"
#include "formats/formats.h"
#include "formats/json_file.h"
#include "formats/state_dict.h"

namespace weft::detail {
namespace {

using namespace tnn_formats;
using nlohmann::json;

const std::vector<Argument> shared_arguments = {{"act_fun", "act"},
                                                {"use_norm", "use_norm"},
                                                {"norm_type", "norm_type", true},
                                                {"rpe_embedding", "rpe_dim", true},
                                                {"rpe_layers", "rpe_layers", true},
                                                {"rpe_act", "rpe_act"},
                                                {"residual", "rpe_residual"},
                                                {"par_type", "par_type"},
                                                {"act_type", "act_type"},
                                                {"normalize", "normalize"},
                                                {"use_multi_decay", "use_multi_decay", true},
                                                {"use_decay", "use_decay", true},
                                                {"glu_act", "glu_act"},
                                                {"glu_dim", "glu_dim", true},
                                                {"bias", "bias", true},
                                                {"dropout", "dropout"}};

const std::vector<Feature> shared_unknown = {
    {".gate", true, "gatedrmsnorm"},
    {".scale", true, "rmsnorm"},
    {".scala", true, "scalenorm"},
    {".in_proj.", false, "the third kind of gated Toeplitz unit (gtu_type 3)"}};

template <class T>
std::vector<T> with(std::vector<T> list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

const TnnFormat fairseq = {
    "fairseq-tnn",
    "OpenNLPLab's TNN language model in fairseq: state dict, args in config.json",
    "decoder.layers.*.",
    {{"embedding.weight", "decoder.embed_tokens.weight"},
     {"layers.*.token_mixer.", "decoder.layers.*.self_attn.gtu."},
     {"layers.*.token_norm.", "decoder.layers.*.self_attn_layer_norm."},
     {"layers.*.feature_mixer.", "decoder.layers.*.glu."},
     {"layers.*.feature_norm.", "decoder.layers.*.final_layer_norm."},
     {"norm.", "decoder.layer_norm."},
     {"head.weight", "decoder.output_projection.weight"}},
    {Task::causal_lm},
    with(shared_arguments, {{"decoder_attention_heads", "heads"},
                            {"decoder_normalize_before", "prenorm"},
                            {"tokens_per_sample", "seq_len"}}),
    with(shared_unknown, {{"encoder.", false, "an encoder, or attention to one"},
                          {".encoder_attn", false, "attention to an encoder"},
                          {".gtu.d", true, "resi_param"},
                          {"decoder.embed_tokens.embeddings.", false, "adaptive_input"},
                          {"decoder.adaptive_softmax.", false, "an adaptive softmax"},
                          {"decoder.embed_positions.", false, "positions that are added to the embeddings"}}),
    {{"decoder_normalize_before", false, "norms after each sum"},
     {"no_decoder_final_norm", true, "no norm before the head"},
     {"no_scale_embedding", true, "embeddings that aren't multiplied by the root of d_model"},
     {"no_token_positional_embeddings", false, "positions that are added to the embeddings"},
     {"glu_type", 2, "the second kind of gated linear unit"},
     {"gtu_type", 3, "the third kind of gated Toeplitz unit"},
     {"resi_param", true, "a factor of the residual"},
     {"causal", false, "a mixing that sees the future"}},
    true};

const TnnFormat tnn_pytorch = {
    "tnn-pytorch",
    "TnnLayers as layers.*, else weft's names; causal unless config.json or --task differ",
    "layers.*.",
    {},
    {Task::causal_lm, Task::masked_lm, Task::classifier},
    with(shared_arguments, {{"gtu_act", "act"}, {"num_heads", "heads"}, {"prenorm", "prenorm"}}),
    with(shared_unknown,
         {{".token_mixer.d", true, "resi_param"}, {".pre_norm.", false, "an early version's norm (pre_norm)"}}),
    {{"resi_param", true, "a factor of the residual"}},
    false};

// Returns the smallest ratio with floor(ratio · d_model) = d1, or one that is at most a few rounding errors larger.
double ratio_of(std::int64_t d1, std::int64_t d_model) {
  const auto whole = static_cast<double>(d1), d = static_cast<double>(d_model);
  double ratio = whole / d;
  while (std::floor(ratio * d) < whole) ratio = std::nextafter(ratio, std::numeric_limits<double>::infinity());
  return ratio;
}

class TnnReader {
 public:
  TnnReader(const TnnFormat& format, const std::string& path, const LoadOptions& options)
      : format_(format), file_(state_dict_in(path), opening(options)) {
    const StateDictConfig config = read_state_dict_config(file_);
    args_ = config.arguments;
    args_path_ = config.path;
  }

  Checkpoint read(const LoadOptions& options) {
    check_features();
    const Task task = task_of(options);
    read_tensors(task);
    if (args_.is_object()) read_arguments();
    const std::int64_t vocabulary = size("embedding.weight", 0);
    const std::int64_t classes = task == Task::classifier ? size("head.weight", 0) : 0;
    const auto rename = [this](const std::string& tensor) { return role_of(tensor); };
    const ModelSpec spec = model_spec(config_, task, vocabulary, classes);
    Checkpoint made = load_state_dict(file_, format_.name, spec, rename, options.purpose);
    if (format_.is_fairseq) made.info.length = argument("tokens_per_sample", std::int64_t{0});
    if (!args_.is_object())
      made.info.notes.emplace_back("there is no config.json: weft uses the defaults of " + std::string(format_.name) +
                                   " for the activations and for everything else that the tensors' shapes don't show");
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("\"" + file_.path() + "\": " + what); }
  [[noreturn]] void fail_args(const std::string& what) const { throw Error("\"" + args_path_ + "\": " + what); }

  bool has(const std::string& ours) const { return file_.contains(their(format_, ours)); }
  std::int64_t size(const std::string& ours, std::size_t axis) const {
    return size_in(file_, their(format_, ours), axis);
  }

  template <class T>
  T argument(const char* theirs, T value) const {
    if (args_.is_object()) read_key(args_path_, args_, theirs, value);
    return value;
  }

  void check_features() const {
    for (const Feature& feature : format_.unknown)
      for (const std::string& name : file_.names())
        if (feature.at_end ? name.ends_with(feature.part) : name.find(feature.part) != std::string::npos)
          fail(name + " belongs to " + feature.what + ", which weft's TNN does not support");
    if (has("layers.0.feature_mixer.l1.weight") && !has("layers.0.feature_mixer.l3.weight"))
      fail("a gated linear unit without l3 has glu_type 2, which weft's TNN does not support");
    for (const Refused& refused : format_.refused)
      if (args_.is_object() && args_.contains(refused.theirs) && args_.at(refused.theirs) == refused.value)
        fail_args(std::string(refused.theirs) + " " + refused.value.dump() + " means " + refused.what +
                  ", which weft's TNN does not support");
    if (format_.is_fairseq) check_last_norm();
  }

  // fairseq changes a checkpoint when it loads it, depending on the version. For versions up to 2 it drops the last
  // norm.
  void check_last_norm() const {
    if (!has("norm.weight"))
      fail("there is no tensor " + their(format_, "norm.weight") +
           ": weft's TNN supports neither norms after each sum (decoder_normalize_before false) nor "
           "no_decoder_final_norm");
    if (!file_.contains(version_name)) return;
    const auto version = raw::convert(file_.load(version_name), DType::f64).to_vector<double>();
    if (!version.empty() && version[0] <= 2)
      fail(std::string(version_name) + " has a value for which fairseq leaves out the norm before the head");
  }

  Task task_of(const LoadOptions& options) const {
    const bool causal = argument("causal", options.task.value_or(Task::causal_lm) == Task::causal_lm);
    const Task task = options.task.value_or(causal ? Task::causal_lm : Task::masked_lm);
    if (std::find(format_.tasks.begin(), format_.tasks.end(), task) == format_.tasks.end())
      fail(std::string(format_.name) + " does not support the task " + task_name(task));
    if (causal != (task == Task::causal_lm))
      fail_args(std::string("the value of \"causal\" contradicts the task ") + task_name(task));
    return task;
  }

  void read_tensors(Task task) {
    const std::string mixer = "layers.0.token_mixer.";
    config_.d_model = size("embedding.weight", 1);
    config_.layers = count_layers(file_, format_.layers);
    const std::int64_t d1 = size(mixer + "v_proj.weight", 0);
    config_.expand_ratio = ratio_of(d1, config_.d_model);
    config_.rpe_dim = size(mixer + "toep.rpe.pos_proj.weight", 0);
    config_.rpe_layers = count_layers(file_, their(format_, mixer + "toep.rpe.layers.") + "*.");
    config_.glu_dim = size("layers.0.feature_mixer.l1.weight", 0);
    config_.bias = has(mixer + "v_proj.bias");
    for (const std::string& other : {mixer + "toep.rpe.pos_proj", std::string("layers.0.feature_mixer.l1")})
      if (has(other + ".bias") != config_.bias)
        fail("some linear layers have a bias and some have none, but in weft's TNN either all or none have a bias");
    config_.norm_type = norm_type_of("layers.0.token_norm");
    if (norm_type_of(mixer + "toep.rpe.out.0") != config_.norm_type)
      fail(
          "the layers have a different kind of norm than their relative position encoders, but weft's TNN supports "
          "only one kind");
    config_.use_norm = has(mixer + "norm.weight");
    const std::string last = norm_type_of("norm");
    if (last != config_.norm_type) config_.final_norm = last;
    if (task != Task::classifier) {
      shares_head_ = has("head.weight") && same("head.weight", "embedding.weight");
      config_.tied = shares_head_ || !has("head.weight");
    }
    read_decay();
  }

  std::string norm_type_of(const std::string& ours) const {
    return has(ours + ".weight") ? "layernorm" : "simplermsnorm";
  }

  bool same(const std::string& a, const std::string& b) const {
    const Tensor x = file_.load(their(format_, a)), y = file_.load(their(format_, b));
    return x.dtype() == y.dtype() && x.shape() == y.shape() && same_bits(x, y);
  }

  // Without use_multi_decay, gamma (h, 1, dim) is the constant decay. With use_multi_decay it is a parameter.
  void read_decay() {
    std::vector<std::string> gammas;
    for (const std::string& name : file_.names())
      if (number_in("layers.*.token_mixer.toep.gamma", our(format_, name))) gammas.push_back(name);
    config_.use_multi_decay = argument("use_multi_decay", false);
    config_.use_decay = !gammas.empty() && !config_.use_multi_decay;
    config_.gamma = argument("gamma", 0.99);
    if (gammas.empty()) return;
    config_.heads = size_in(file_, gammas.front(), 0);
    if (config_.use_multi_decay) return;
    if (std::ssize(gammas) != config_.layers) fail("some layers have a tensor toep.gamma and some have none");
    std::optional<double> gamma;
    for (const std::string& name : gammas)
      for (const double value : raw::convert(file_.load(name), DType::f64).to_vector<double>()) {
        if (!gamma) gamma = value;
        if (value != *gamma)
          fail(name +
               " isn't constant: if it is learned, put \"use_multi_decay\": true and the \"gamma\" of the model's " +
               "arguments into a config.json next to the file");
      }
    config_.gamma = gamma.value_or(config_.gamma);
  }

  void read_arguments() {
    const ConfigFieldRefs fields = config_field_refs(config_);
    for (const Argument& argument : format_.arguments)
      for (const ConfigFieldRef& field : fields)
        if (std::string(field.name) == argument.ours)
          std::visit([&](auto* value) { read_argument(argument, *value); }, field.value);
    const std::string last = this->argument("fina_act", std::string("none"));
    if (activation_in(last) != Activation::none)
      fail_args("fina_act " + json(last).dump() +
                " is an activation after the gated linear unit, which weft's TNN does not support");
  }

  template <class T>
  void read_argument(const Argument& argument, T& field) const {
    T value = field;
    read_key(args_path_, args_, argument.theirs, value);
    if constexpr (std::is_same_v<T, std::int64_t>)
      if (value == -1 && argument.theirs == std::string("glu_dim")) value = config_.d_model;
    if constexpr (std::is_same_v<T, std::string>)
      if (is_activation(argument.ours)) value = read_activation(argument.theirs, value);
    if (argument.of_tensors && value != field)
      fail_args(std::string(argument.theirs) + " is " + json(value).dump() + ", but the tensors have " +
                json(field).dump());
    field = value;
  }

  std::string read_activation(const char* theirs, const std::string& name) const {
    if (const auto found = activation_in(name)) return activation_name(*found);
    fail_args(std::string(theirs) + " " + json(name).dump() +
              ": expected none, gelu, relu, elu, sigmoid, exp, leak, 1+elu, 2+elu or silu");
  }

  TensorRole role_of(const std::string& tensor) const {
    const std::string ours = our(format_, tensor);
    if (tensor == version_name) return {};
    if (!config_.use_multi_decay && number_in("layers.*.token_mixer.toep.gamma", ours)) return {};
    if (shares_head_ && ours == "head.weight") return {"embedding.weight"};
    return {ours};
  }

  const TnnFormat& format_;
  SafetensorsFile file_;
  std::string args_path_;
  json args_;  // null if there are none
  TnnConfig config_;
  bool shares_head_ = false;  // the file holds the embedding twice
};

CheckpointFormat made_of(const TnnFormat& format) {
  return {format.name,
          format.meaning,
          {},
          [&format](const std::string& path, const LoadOptions& options) {
            return TnnReader(format, path, options).read(options);
          },
          [&format](const std::string& folder, const Checkpoint& checkpoint) {
            return tnn_formats::save(format, folder, checkpoint);
          }};
}

}  // namespace

CheckpointFormat fairseq_tnn_format() { return made_of(fairseq); }
CheckpointFormat tnn_pytorch_format() { return made_of(tnn_pytorch); }

}  // namespace weft::detail
