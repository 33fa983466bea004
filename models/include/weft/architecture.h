// Architectures: what each can do and how it is made. A host program may add its own; then make_model, load_checkpoint
// and all that works on models know it by its name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/config.h"
#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

// Sizes that have a name.
struct Preset {
  std::string name;
  Task task = Task::causal_lm;
  std::int64_t vocabulary = 0, classes = 0;
  std::string config;  // JSON
};

struct Architecture {
  std::string name;                 // what Model::arch() gives
  std::vector<Task> tasks;          // what it can do; of those with the same source the usual one first
  std::vector<ConfigField> fields;  // of its config, for people to read
  std::function<std::unique_ptr<Model>(const ModelSpec&, const Init&)> make;
  std::vector<Preset> presets = {};
};

// How to make a model of a class with a constructor (spec, init).
template <class M>
std::unique_ptr<Model> make_as(const ModelSpec& spec, const Init& init) {
  return std::make_unique<M>(spec, init);
}

// Adds one to weft's own, for the rest of the process. Error, with nothing added, if its name or a preset's name is
// taken, or if it has no name, no task or no `make`. Any thread may call these functions at any time.
void register_architecture(Architecture architecture);

// Error if there is none of that name. It stays where it is for the rest of the process.
const Architecture& architecture(const std::string& name);
std::vector<std::string> architectures();  // their names, weft's own first

// The sizes of the original experiments: "gmlp-original", "tnn-original", "fnet-base", "fnet-classifier", …
std::vector<std::string> presets();
ModelSpec preset(const std::string& name);  // Error if there is none of that name

// The first of its tasks that learns from `source`. Error if there is none.
Task usual_task(const Architecture& architecture, Source source);

}  // namespace weft
#pragma GCC visibility pop
