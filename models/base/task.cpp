#include "weft/task.h"

#include "weft/detail/enum_names.h"

namespace weft {
using namespace detail;

namespace detail {

template <>
struct EnumNames<Task> {
  static constexpr const char* what = "task";
  static constexpr EnumName<Task> all[] = {
      {Task::causal_lm, "causal-lm"}, {Task::masked_lm, "masked-lm"}, {Task::classifier, "classifier"}};
};

}  // namespace detail

const char* task_name(Task task) noexcept { return enum_name(task); }

Task task_from_name(const std::string& name) { return enum_from_name<Task>(name); }

std::vector<std::string> tasks() { return enum_names<Task>(); }

Source task_source(Task task) noexcept { return task == Task::classifier ? Source::rows : Source::text; }

}  // namespace weft
