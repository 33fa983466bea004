// Small trained models of every architecture and task. The tests quantize them to bf16 and to int8.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "train_support.h"
#include "weft/checkpoint.h"

namespace weft::test {

struct QuantizedCase {
  std::string name, arch;
  Task task;
  std::string config;  // keys other than the sizes
  Quantization to;
};

inline std::vector<QuantizedCase> quantized_cases() {
  std::vector<QuantizedCase> cases;
  for (const Quantization to : quantizations()) {
    const auto add = [&](const std::string& arch, Task task, const std::string& config) {
      cases.push_back(
          {arch + " " + task_name(task) + " " + config + " " + quantization_name(to), arch, task, config, to});
    };
    for (const std::string& arch : own_architectures)
      for (const Task task : architecture(arch).tasks) add(arch, task, "{}");
    add("gmlp", Task::causal_lm, R"({"tied":true})");
    add("fnet", Task::classifier, R"({"norm":"pre","activation":"relu"})");
    add("fnet", Task::classifier, R"({"norm":"pre","head":"last","embeddings":"sinusoidal"})");
    add("fnet", Task::classifier, R"({"head":"mean"})");
    add("tnn", Task::causal_lm, R"({"tied":false,"final_norm":"simplermsnorm"})");
    add("tnn", Task::causal_lm, R"({"heads":2,"normalize":true,"act_type":"exp","norm_type":"simplermsnorm"})");
  }
  return cases;
}

// Returns the model after 30 training steps. The training runs only once, but each call returns a separate model.
inline SmallTask trained(const QuantizedCase& c) {
  static std::map<std::string, std::vector<Tensor>> values;
  SmallTask small = small_task(c.arch, c.task);
  if (c.task == Task::classifier)  // the evaluation uses all rows instead of six
    small.data = std::make_unique<ClassifierData>(small_rows(), small_rows(), small.data->tokenizer(), 16, 4);
  std::string config = R"({"layers":2,"d_model":16,"seq_len":16)";
  if (c.config != "{}") config += "," + c.config.substr(1, c.config.size() - 2);
  const std::int64_t classes = task_source(c.task) == Source::rows ? 3 : 0;
  small.model = make_model({c.arch, c.task, small.data->tokenizer()->size(), classes, config + "}"}, Init{});
  const std::string key = c.arch + task_name(c.task) + c.config;
  const NamedParameters parameters = small.model->parameters();
  if (values.count(key) == 0) {
    Trainer trainer(*small.model, *small.data, small_options(30));
    for (int i = 0; i < 30; ++i) (void)trainer.step();
    for (const auto& [name, parameter] : parameters) {
      Tensor own = Tensor::empty(parameter.value().shape());
      raw::copy(parameter.value(), own);
      values[key].push_back(own);
    }
  }
  small.model = make_model({c.arch, c.task, small.data->tokenizer()->size(), classes, config + "}"}, Init{});
  const NamedParameters fresh = small.model->parameters();
  for (std::size_t i = 0; i < fresh.size(); ++i) Parameter(fresh[i].second).assign(values[key][i]);
  return small;
}

}  // namespace weft::test
