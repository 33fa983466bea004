// Numbers for the names of labels.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/labelled_texts.h"

namespace weft::detail {

// Numbers the names of labels: the known names, or those that occur.
class LabelNumbers {
 public:
  explicit LabelNumbers(const std::vector<std::string>& known);

  // Why the name can't be a label; empty if it can.
  std::string refusal(const std::string& name) const;
  std::int64_t of(const std::string& name);
  // Sorts the names if they are those that occurred, and renumbers the labels.
  std::vector<std::string> sort(std::vector<std::int64_t>& labels) const;

 private:
  bool are_known_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

// A control character of ASCII, such as a line end.
bool is_control(char c) noexcept;

// Throws an Error for options that only files of texts have.
void check_no_columns(const LabelledOptions& options, const std::string& where);

}  // namespace weft::detail
