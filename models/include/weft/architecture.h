/// \file
/// Architectures: what each can do and how it is made. A host program may add its own; then make_model, load_checkpoint
/// and all that works on models know it by its name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/config.h"
#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

/// One that models can be made of.
struct Architecture {
  std::string name;                 ///< what Model::arch() gives
  std::vector<Task> tasks;          ///< what it can do; of those with the same source the usual one first
  std::vector<ConfigField> fields;  ///< of its config, for people to read
  /// Makes a model of the spec's task, whose parameters come from `init` and may get other values later (load_checkpoint):
  /// nothing is derived from them here. Error for a config or sizes that don't fit;
  /// make_model has already checked task, vocabulary and classes. Several threads may call it at once.
  std::function<std::unique_ptr<Model>(const ModelSpec&, const Init&)> make;
  std::string no_other_task = {};  ///< why it can't do the other tasks, for messages; empty: nothing to say
};

/// What make_model takes, of a config as a struct (GmlpConfig, TnnConfig, FnetConfig, or one of a program's own that has
/// its architecture's name as `arch`): make_model(model_spec(config, Task::masked_lm, 32000), init).
template <class Config>
ModelSpec model_spec(const Config& config, Task task, std::int64_t vocabulary, std::int64_t classes = 0) {
  return {Config::arch, task, vocabulary, classes, config_to_json(config)};
}

/// Architecture::make of a class with a constructor (spec, init).
template <class M>
std::unique_ptr<Model> make_as(const ModelSpec& spec, const Init& init) {
  return std::make_unique<M>(spec, init);
}

/// What an architecture's model derives from that has its config as a struct and lists its parts in fields() (weft/layers.h).
template <class Self, class Config>
class ModelOf : public Model {
 public:
  const char* arch() const noexcept override { return Config::arch; }        ///< the config's
  Task task() const noexcept override { return task_; }                      ///< the spec's
  std::int64_t outputs() const noexcept override { return outputs_; }        ///< as Model's
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }  ///< as Model's
  std::string config() const override { return config_to_json(config_); }    ///< all of it
  /// What fields() lists.
  void collect(const std::string& prefix, NamedParameters& out) const override {
    static_cast<const Self&>(*this).fields(ParameterCollector(prefix, out));
  }

 protected:
  /// `config` is the spec's, checked.
  ModelOf(const ModelSpec& spec, Config config)
      : config_(std::move(config)),
        task_(spec.task),
        vocabulary_(spec.vocabulary),
        outputs_(spec.task == Task::classifier ? spec.classes : spec.vocabulary) {}

  Config config_;            ///< as config() writes it
  Task task_;                ///< the spec's
  std::int64_t vocabulary_;  ///< symbols of the input
  std::int64_t outputs_;     ///< classes of a classifier, else symbols
};

/// Adds one to weft's own, for the rest of the process. Error, with nothing added, if its name is taken, or if it
/// has no name, no task or no `make`. Any thread may call these functions at any time.
void register_architecture(Architecture architecture);

/// Error if there is none of that name. It stays where it is for the rest of the process.
const Architecture& architecture(const std::string& name);
std::vector<std::string> architectures();  ///< their names, weft's own first

/// The first of its tasks that learns from `source`. Error if there is none.
Task usual_task(const Architecture& architecture, Source source);

}  // namespace weft
#pragma GCC visibility pop
