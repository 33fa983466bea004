#include "weft/architecture.h"

#include <algorithm>

#include "base/names.h"
#include "base/registry.h"
#include "weft/detail/out_of_memory.h"
#include "weft/fnet.h"
#include "weft/gmlp.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace {

// Made at the first call, so there is no static initializer that a linker could drop.
Registry<Architecture>& registry() {
  // Add new architectures here.
  static Registry<Architecture> made = {
      Gmlp::architecture(),
      Tnn::architecture(),
      Fnet::architecture(),
  };
  return made;
}

void check_new(const Architecture& added, const Architecture& known) {
  if (added.name == known.name) throw Error("[architecture] the name \"" + added.name + "\" is taken");
}

void check_spec(const ModelSpec& spec, const Architecture& architecture) {
  if (spec.vocabulary < 1)
    throw Error("[model] expected a vocabulary of at least 1 symbol, got " + std::to_string(spec.vocabulary));
  const auto& tasks = architecture.tasks;
  if (std::find(tasks.begin(), tasks.end(), spec.task) == tasks.end())
    throw Error("[" + spec.arch + "] it can't be a " + task_name(spec.task) + "; its tasks are " +
                join(task_names(tasks)) +
                (architecture.no_other_task.empty() ? "" : ": " + architecture.no_other_task));
  if (task_source(spec.task) == Source::rows && spec.classes < 1)
    throw Error(std::string("[model] a ") + task_name(spec.task) + " needs at least 1 class, got " +
                std::to_string(spec.classes));
}

}  // namespace

void register_architecture(Architecture added) {
  if (added.name.empty() || added.tasks.empty() || !added.make)
    throw Error("[architecture] \"" + added.name + "\": expected a name, tasks and a function that makes a model");
  registry().add(std::move(added), check_new);
}

const Architecture& architecture(const std::string& name) {
  if (const Architecture* found = registry().find(name)) return *found;
  throw Error("[model] unknown architecture \"" + name + "\", expected one of " + join(architectures()));
}

std::vector<std::string> architectures() {
  return guard_memory("architecture", [&] { return registry().names(); });
}

Task usual_task(const Architecture& architecture, Source source) {
  for (Task task : architecture.tasks)
    if (task_source(task) == source) return task;
  throw Error("[model] " + architecture.name + " can't learn from " + (source == Source::text ? "a text" : "rows") +
              "; its tasks are " + join(task_names(architecture.tasks)));
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init) {
  return guard_memory("model", [&] {
    const Architecture& known = architecture(spec.arch);
    check_spec(spec, known);
    std::unique_ptr<Model> made = known.make(spec, init);
    // If these differed, a checkpoint of the model could not be loaded.
    const auto text = [](const std::string& arch, Task task) { return arch + " " + task_name(task); };
    if (made == nullptr || made->arch() != spec.arch || made->task() != spec.task)
      throw Error("[model] expected a " + text(spec.arch, spec.task) + "; its architecture made " +
                  (made == nullptr ? "nothing" : "a " + text(made->arch(), made->task())));
    return made;
  });
}

}  // namespace weft
