// Helpers for names, most of them for messages.
#pragma once
#include <string>
#include <vector>

#include "weft/error.h"
#include "weft/task.h"

namespace weft::detail {

// "red, blue"
inline std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

inline std::vector<std::string> task_names(const std::vector<Task>& tasks) {
  std::vector<std::string> names;
  for (Task task : tasks) names.emplace_back(task_name(task));
  return names;
}

// Throws an Error if a folder's name is empty. Otherwise its files would be looked up in "/".
inline void check_folder_name(const std::string& name) {
  if (name.empty()) throw Error("[checkpoint] expected the name of a folder, got an empty one");
}

}  // namespace weft::detail
