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

// The table is made at the first call, so there is no static initializer that a linker could drop.
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

// Whether a host program added the task.
bool is_added(Task task) { return task > Task::retrieval; }

void check_spec(const ModelSpec& spec, const Architecture& architecture) {
  const TaskKind& kind = task_kind(spec.task);
  if (spec.input.defined()) check_input_spec(spec.input);
  if (spec.input.defined() && kind.outputs == OutputShape::symbols)
    throw Error("[model] the task " + kind.name + " needs a model that reads only tokens, got frames of " +
                std::to_string(spec.input.channels) + " channels");
  if (spec.output.defined() && kind.outputs != OutputShape::per_row)
    throw Error("[model] an output unit (OutputSpec) is only for tasks with one output per row, not for the task " +
                kind.name);
  check_output_spec(spec.output, spec.classes);
  if (spec.vocabulary < (spec.input.defined() ? 0 : 1))
    throw Error("[model] expected a vocabulary of at least 1 symbol, got " + std::to_string(spec.vocabulary));
  const auto& tasks = architecture.tasks;
  const auto can_do = [&](Task task) {
    const TaskKind& known = task_kind(task);
    return task == spec.task || (is_added(spec.task) && known.outputs == kind.outputs && known.causal == kind.causal);
  };
  if (std::none_of(tasks.begin(), tasks.end(), can_do))
    throw Error("[" + spec.arch + "] this architecture does not support the task " + task_name(spec.task) +
                "; its tasks are " + join(task_names(tasks)) +
                (architecture.no_other_task.empty() ? "" : " (reason: " + architecture.no_other_task + ")"));
  if (kind.outputs != OutputShape::symbols && spec.classes < 1)
    throw Error("[model] the task " + kind.name + " needs at least 1 " +
                (spec.task == Task::classifier ? "class" : "output") + ", got " + std::to_string(spec.classes));
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
  throw Error("[model] the architecture " + architecture.name + " can't learn from " +
              (source == Source::text ? "a text" : "rows") + "; its tasks are " + join(task_names(architecture.tasks)));
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init) {
  return guard_memory("model", [&] {
    const Architecture& known = architecture(spec.arch);
    check_spec(spec, known);
    std::unique_ptr<Model> made = known.make(spec, init);
    // A checkpoint of the model could not be loaded if its properties differed from the spec.
    const auto text = [](const std::string& arch, Task task) { return arch + " with the task " + task_name(task); };
    if (made == nullptr || made->arch() != spec.arch || made->task() != spec.task)
      throw Error("[model] expected a model of the architecture " + text(spec.arch, spec.task) + ", but the function " +
                  "that makes it returned " +
                  (made == nullptr ? "none" : "one of the architecture " + text(made->arch(), made->task())));
    if (made->output().mean != spec.output.mean)
      throw Error("[model] the architecture " + spec.arch + " does not support an output unit (OutputSpec)");
    if (made->input().channels != spec.input.channels)
      throw Error("[model] the architecture " + spec.arch + " reads only tokens, got frames of " +
                  std::to_string(spec.input.channels) + " channels");
    return made;
  });
}

}  // namespace weft
