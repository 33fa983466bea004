#include "weft/task.h"

#include "base/names.h"
#include "base/registry.h"
#include "weft/error.h"

namespace weft {
using namespace detail;

namespace {

// The tasks of the enum, in the enum's order, followed by the tasks that host programs added.
Registry<TaskKind>& registry() {
  static Registry<TaskKind> made = {
      {"causal-lm", Source::text, OutputShape::symbols, true},
      {"masked-lm", Source::text, OutputShape::symbols, false},
      {"classifier", Source::rows, OutputShape::per_row, false},
      {"regression", Source::rows, OutputShape::per_row, false},
      {"multilabel", Source::rows, OutputShape::per_row, false},
      {"tagging", Source::rows, OutputShape::per_token, false},
      {"forecast", Source::rows, OutputShape::per_row, false},
      {"retrieval", Source::rows, OutputShape::per_row, false},
  };
  return made;
}

const TaskKind* find(Task task) noexcept {
  const TaskKind* found = nullptr;
  int index = 0;
  registry().for_each([&](const TaskKind& kind) {
    if (index++ == static_cast<int>(task)) found = &kind;
  });
  return found;
}

}  // namespace

const TaskKind& task_kind(Task task) {
  if (const TaskKind* found = find(task)) return *found;
  throw Error("[task] unknown task " + std::to_string(static_cast<int>(task)));
}

Task register_task(TaskKind kind) {
  if (kind.name.empty()) throw Error("[task] expected a name for the new task");
  const std::string name = kind.name;
  registry().add(std::move(kind), [](const TaskKind& added, const TaskKind& known) {
    if (added.name == known.name) throw Error("[task] the name \"" + added.name + "\" is taken");
  });
  return task_from_name(name);
}

const char* task_name(Task task) noexcept {
  const TaskKind* found = find(task);
  return found == nullptr ? "unknown" : found->name.c_str();
}

Task task_from_name(const std::string& name) {
  const std::vector<std::string> names = tasks();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Task>(i);
  throw Error("[task] expected one of " + join(names) + ", got \"" + name + "\"");
}

std::vector<std::string> tasks() { return registry().names(); }

Source task_source(Task task) noexcept {
  const TaskKind* found = find(task);
  return found == nullptr ? Source::rows : found->source;
}

}  // namespace weft
