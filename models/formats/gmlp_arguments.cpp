#include "formats/gmlp_arguments.h"

#include <algorithm>

#include "formats/json_file.h"
#include "formats/state_dict.h"

namespace weft::detail {
namespace {

using nlohmann::json;

// An argument for which weft's gMLP supports only certain values. Null counts as a missing argument.
struct Fixed {
  const char* theirs;
  std::vector<json> values;
  const char* what;
};

const std::vector<Fixed>& fixed() {
  static const std::vector<Fixed> all = {
      {"heads", {1}, "a spatial gate of several heads"},
      {"attn_dim", {}, "tiny attention"},
      {"circulant_matrix", {false}, "a circulant matrix"},
      {"shift_tokens", {0}, "token shift"},
      {"act", {"none", "identity", "Identity", "Identity()"}, "an activation function on the gate"}};
  return all;
}

}  // namespace

GmlpArguments::GmlpArguments(const SafetensorsFile& file) {
  const StateDictConfig config = read_state_dict_config(file);
  path_ = config.path;
  all_ = config.arguments;
  if (all_.is_null()) return;
  for (const Fixed& argument : fixed()) {
    const json value = all_.value(argument.theirs, json());
    if (!value.is_null() && std::find(argument.values.begin(), argument.values.end(), value) == argument.values.end())
      fail(std::string(argument.theirs) + " " + value.dump() + " means " + argument.what +
           ", which weft's gMLP does not support");
  }
}

Task GmlpArguments::task(const LoadOptions& options) const {
  const Task wanted = options.task.value_or(all_.is_null() ? Task::causal_lm : Task::masked_lm);
  bool causal = wanted == Task::causal_lm;
  if (all_.is_object()) read_key(path_, all_, "causal", causal);
  if (options.task && causal != (wanted == Task::causal_lm))
    fail(std::string("the value of \"causal\" contradicts the task ") + task_name(wanted));
  return options.task.value_or(causal ? Task::causal_lm : Task::masked_lm);
}

void GmlpArguments::check_sizes(const GmlpConfig& config, std::int64_t vocabulary) const {
  if (all_.is_null()) return;
  const auto check = [&](const char* theirs, std::int64_t of_tensors) {
    std::int64_t value = of_tensors;
    read_key(path_, all_, theirs, value);
    if (value != of_tensors)
      fail(std::string(theirs) + " is " + std::to_string(value) + ", but the tensors have " +
           std::to_string(of_tensors));
  };
  check("num_tokens", vocabulary);
  check("dim", config.d_model);
  check("depth", config.layers);
  check("seq_len", config.seq_len);
  check("ff_mult", config.d_ffn / config.d_model);
}

std::vector<std::string> GmlpArguments::notes(Task task) const {
  if (all_.is_null())
    return {std::string("there is no config.json: weft assumes that the model is ") +
            (task == Task::causal_lm ? "" : "not ") +
            "causal, and that it has no token shift and no activation function on the gate"};
  std::vector<std::string> all;
  double survival = 1;
  read_key(path_, all_, "prob_survival", survival);
  if (survival != 1) all.emplace_back("prob_survival is not supported: weft drops no layers in training");
  return all;
}

nlohmann::ordered_json gmlp_arguments(const GmlpConfig& config, Task task, std::int64_t vocabulary) {
  nlohmann::ordered_json all{{"num_tokens", vocabulary},
                             {"dim", config.d_model},
                             {"depth", config.layers},
                             {"seq_len", config.seq_len},
                             {"causal", task == Task::causal_lm}};
  if (config.d_ffn % config.d_model == 0) all["ff_mult"] = config.d_ffn / config.d_model;
  return all;
}

}  // namespace weft::detail
