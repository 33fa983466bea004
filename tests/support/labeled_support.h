// Labeled texts in memory, for the tests of labeled texts.
#pragma once
#include <string>
#include <vector>

#include "contains.h"
#include "weft/error.h"
#include "weft/labeled_texts.h"

namespace weft::test {

using Strings = std::vector<std::string>;

inline LabeledTexts parse(const std::string& content, const LabeledOptions& options = {}) {
  return parse_labeled(content, "file", options);
}

inline std::string error(const std::string& content, const LabeledOptions& options = {}) {
  try {
    (void)parse(content, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Returns "label: text" for each row.
inline Strings pairs(const LabeledTexts& all) {
  Strings rows;
  for (std::size_t i = 0; i < all.texts.size(); ++i)
    rows.push_back(all.names.at(static_cast<std::size_t>(all.labels.at(i))) + ": " + all.texts[i]);
  return rows;
}

}  // namespace weft::test
