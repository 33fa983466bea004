// Assigns numbers to the names of labels.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/labeled_texts.h"

namespace weft::detail {

// Assigns a number to each name of a label. The names are the known names or, if none are known, the names that occur.
class LabelNumbers {
 public:
  explicit LabelNumbers(const std::vector<std::string>& known);

  // Returns why the name can't be a label, or an empty text if it can.
  std::string refusal(const std::string& name) const;
  std::int64_t of(const std::string& name);
  // Returns all names. If no names are known, first sorts the names that occurred and renumbers the labels.
  std::vector<std::string> sort(std::vector<std::int64_t>& labels) const;

 private:
  bool are_known_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

// Whether the character is an ASCII control character, such as a line end.
bool is_control(char c) noexcept;

// Throws an Error if bad rows should be skipped, which NumPy and IDX files do not support.
void check_skipping(const LabeledOptions& options, const std::string& where);
// Throws an Error for this and other options that apply only to files of texts.
void check_number_options(const LabeledOptions& options, const std::string& where);

}  // namespace weft::detail
