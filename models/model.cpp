#include "weft/model.h"

#include <functional>

#include "weft/fnet.h"
#include "weft/gmlp.h"
#include "weft/tnn.h"

namespace weft {
namespace {

struct Architecture {
  const char* name;
  std::unique_ptr<Model> (*make)(const ModelSpec&, const Init&);
};

template <class M>
std::unique_ptr<Model> make(const ModelSpec& spec, const Init& init) {
  return std::make_unique<M>(spec, init);
}

// A new architecture is a line here.
constexpr Architecture all_architectures[] = {
    {"gmlp", make<Gmlp>},
    {"tnn", make<Tnn>},
    {"fnet", make<Fnet>},
};

struct Preset {
  const char* name;
  const char* arch;
  Task task;
  std::int64_t vocabulary, classes;
  const char* config;
};

// The sizes of the original experiments.
constexpr Preset all_presets[] = {
    {"gmlp-original", "gmlp", Task::causal_lm, 65, 0, R"({"d_model":512,"d_ffn":2048,"layers":6,"seq_len":256})"},
    {"tnn-original", "tnn", Task::causal_lm, 65, 0,
     R"({"d_model":512,"layers":7,"expand_ratio":3,"rpe_dim":64,"rpe_layers":6,"glu_dim":512,"gamma":0.99,"seq_len":512})"},
    {"fnet-base", "fnet", Task::masked_lm, 32000, 0, R"({"d_model":768,"d_ffn":3072,"layers":12,"seq_len":512})"},
    {"fnet-classifier", "fnet", Task::classifier, 32000, 4,
     R"({"d_model":512,"d_ffn":2048,"layers":6,"seq_len":512,"norm":"pre"})"},
};

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

const char* task_name(Task task) noexcept {
  switch (task) {
    case Task::causal_lm: return "causal-lm";
    case Task::masked_lm: return "masked-lm";
    case Task::classifier: return "classifier";
  }
  return "unknown";
}

Task task_from_name(const std::string& name) {
  for (Task task : {Task::causal_lm, Task::masked_lm, Task::classifier})
    if (name == task_name(task)) return task;
  throw Error("[model] unknown task \"" + name + "\", expected causal-lm, masked-lm or classifier");
}

NamedParameters Model::parameters() const {
  NamedParameters all;
  collect("", all);
  return all;
}

std::unique_ptr<TokenStream> Model::stream() const {
  throw Error(std::string("[generate] a ") + arch() + " " + task_name(task()) +
              " can't continue a text: that takes a causal language model");
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init) {
  if (spec.vocabulary < 1) throw Error("[model] expected a vocabulary of at least 1 symbol, got " + std::to_string(spec.vocabulary));
  if (spec.task == Task::classifier && spec.classes < 1)
    throw Error("[model] a classifier needs at least 1 class, got " + std::to_string(spec.classes));
  for (const Architecture& known : all_architectures)
    if (spec.arch == known.name) return known.make(spec, init);
  throw Error("[model] unknown architecture \"" + spec.arch + "\", expected one of " + join(architectures()));
}

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const Architecture& known : all_architectures) names.emplace_back(known.name);
  return names;
}

std::vector<std::string> presets() {
  std::vector<std::string> names;
  for (const Preset& known : all_presets) names.emplace_back(known.name);
  return names;
}

ModelSpec preset(const std::string& name) {
  for (const Preset& known : all_presets)
    if (name == known.name) return {known.arch, known.task, known.vocabulary, known.classes, known.config};
  throw Error("[model] unknown preset \"" + name + "\", expected one of " + join(presets()));
}

}  // namespace weft
