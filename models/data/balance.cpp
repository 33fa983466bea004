#include "weft/balance.h"

#include <algorithm>

#include "data/targets.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace detail {

template <>
struct EnumNames<Balance> {
  static constexpr const char* what = "balance";
  static constexpr EnumName<Balance> all[] = {
      {Balance::none, "none"}, {Balance::weights, "weights"}, {Balance::rows, "rows"}};
};

}  // namespace detail

namespace {

// Returns how often each class occurs.
std::vector<std::int64_t> counts_of(const std::vector<std::int64_t>& targets, std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes), 0);
  for (const std::int64_t target : targets) {
    if (target == ignored_target) continue;
    if (target < 0 || target >= classes)
      throw Error("[balance] expected a class from 0 to " + std::to_string(classes - 1) + ", got " +
                  std::to_string(target));
    ++counts[static_cast<std::size_t>(target)];
  }
  return counts;
}

}  // namespace

const char* balance_name(Balance balance) noexcept { return enum_name(balance); }

Balance balance_from_name(const std::string& name) { return enum_from_name<Balance>(name); }

std::vector<std::string> balances() { return enum_names<Balance>(); }

std::vector<double> balanced_weights(const std::vector<std::int64_t>& targets, std::int64_t classes) {
  return guard_memory("balance", [&] {
    const std::vector<std::int64_t> counts = counts_of(targets, classes);
    double all = 0, occurring = 0;
    for (const std::int64_t count : counts) {
      all += static_cast<double>(count);
      occurring += count > 0;
    }
    std::vector<double> weights;
    for (const std::int64_t count : counts)
      weights.push_back(count > 0 ? all / (occurring * static_cast<double>(count)) : 1);
    return weights;
  });
}

std::vector<std::int64_t> balanced_rows(const std::vector<std::int64_t>& targets, std::int64_t classes) {
  return guard_memory("balance", [&] {
    const std::vector<std::int64_t> counts = counts_of(targets, classes);
    const std::int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    std::vector<std::int64_t> seen(counts.size(), 0), rows;
    for (std::size_t row = 0; row < targets.size(); ++row) {
      if (targets[row] == ignored_target) continue;
      const auto k = static_cast<std::size_t>(targets[row]);
      const std::int64_t times = most / counts[k] + (seen[k]++ < most % counts[k]);
      rows.insert(rows.end(), static_cast<std::size_t>(times), static_cast<std::int64_t>(row));
    }
    return rows;
  });
}

std::string detail::describe(const LearningOptions& learning) {
  std::string text;
  if (learning.balance != Balance::none) text += std::string(", balance ") + balance_name(learning.balance);
  if (learning.focal_gamma != 0) text += ", focal " + std::to_string(learning.focal_gamma);
  if (learning.huber_delta != 0) text += ", huber " + std::to_string(learning.huber_delta);
  return text;
}

std::shared_ptr<const Objective> objective_for(Task task, const std::vector<std::string>& outputs,
                                               const LearningOptions& options,
                                               const std::vector<std::int64_t>& targets) {
  const bool has_classes = task == Task::classifier || task == Task::tagging;
  if (options.balance != Balance::none && (!has_classes || (options.balance == Balance::rows && task == Task::tagging)))
    throw Error(std::string("[balance] the task ") + task_name(task) + " does not support balancing by " +
                balance_name(options.balance));
  ObjectiveOptions chosen{{}, options.focal_gamma, options.huber_delta};
  if (options.balance == Balance::weights) chosen.class_weights = balanced_weights(targets, std::ssize(outputs));
  const bool usual = chosen.class_weights.empty() && chosen.focal_gamma == 0 && chosen.huber_delta == 0;
  return usual ? nullptr : make_objective(task, outputs, chosen);
}

}  // namespace weft
