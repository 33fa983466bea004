/// \file
/// Architectures: what each architecture supports, and the function that makes its models. A host program may add its
/// own architecture. make_model, load_checkpoint and all other functions that make models then find it by its name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/config.h"
#include "weft/model.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// An architecture from which models can be made.
struct Architecture {
  std::string name;                 ///< what Model::arch() returns
  std::vector<Task> tasks;          ///< supported tasks; among tasks with the same source, the default comes first
  std::vector<ConfigField> fields;  ///< describes the fields of its config
  /// Makes a model for the spec's task. The model's parameters come from `init` and may get other values later
  /// (load_checkpoint), so this function must not compute anything from them. Throws an Error if the config or a size
  /// is invalid. make_model has already checked the task, the vocabulary and the classes. Several threads may call this
  /// function at the same time.
  std::function<std::unique_ptr<Model>(const ModelSpec&, const Init&)> make;
  std::string no_other_task = {};  ///< says in messages why it doesn't support other tasks; may be empty
};

/// Makes a ModelSpec for make_model from a config struct: GmlpConfig, TnnConfig, FnetConfig, or a custom struct whose
/// member `arch` is the architecture's name. Example: make_model(model_spec(config, Task::masked_lm, 32000), init).
template <class Config>
ModelSpec model_spec(const Config& config, Task task, std::int64_t vocabulary, std::int64_t classes = 0) {
  return {Config::arch, task, vocabulary, classes, config_to_json(config), {}, {}};
}

/// An Architecture::make for a class M with a constructor M(spec, init).
template <class M>
std::unique_ptr<Model> make_as(const ModelSpec& spec, const Init& init) {
  return std::make_unique<M>(spec, init);
}

/// The base class for models that have a config struct and list their parts in fields() (see weft/layers.h).
template <class Self, class Config>
class ModelOf : public Model {
 public:
  const char* arch() const noexcept override { return Config::arch; }        ///< the name in the config
  Task task() const noexcept override { return task_; }                      ///< the task of the spec
  std::int64_t outputs() const noexcept override { return outputs_; }        ///< see Model::outputs()
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }  ///< see Model::vocabulary()
  InputSpec input() const override { return input_; }                        ///< the input of the spec
  OutputSpec output() const override { return output_; }                     ///< the output of the spec
  std::string config() const override { return config_to_json(config_); }    ///< every field of the config, as JSON
  /// Appends the parameters that fields() lists.
  void collect(const std::string& prefix, NamedParameters& out) const override {
    static_cast<const Self&>(*this).fields(ParameterCollector(prefix, out));
  }

 protected:
  /// `config` is the parsed and checked config of the spec.
  ModelOf(const ModelSpec& spec, Config config)
      : config_(std::move(config)),
        task_(spec.task),
        vocabulary_(spec.vocabulary),
        outputs_(task_kind(spec.task).outputs == OutputShape::symbols ? spec.vocabulary : spec.classes),
        input_(spec.input),
        output_(spec.output) {}

  Config config_;            ///< the source of config()
  Task task_;                ///< the task of the spec
  std::int64_t vocabulary_;  ///< number of symbols in the vocabulary
  std::int64_t outputs_;     ///< number of symbols (language models), or the spec's classes
  InputSpec input_;          ///< the numbers that the model reads
  OutputSpec output_;        ///< converts results to the unit of the targets, see in_unit()
};

/// Adds an architecture to weft's own, for the rest of the process. Throws an Error and adds nothing if its name is
/// taken, or if it has no name, no task or no `make`. Any thread may call these functions at any time.
void register_architecture(Architecture architecture);

/// Returns the architecture of that name. Throws an Error if there is none. The reference stays valid for the rest of
/// the process.
const Architecture& architecture(const std::string& name);
std::vector<std::string> architectures();  ///< returns the names of all architectures, weft's own first

/// Returns the first of the architecture's tasks that learns from `source`. Throws an Error if there is none.
Task usual_task(const Architecture& architecture, Source source);

}  // namespace weft
WEFT_PUBLIC_END
