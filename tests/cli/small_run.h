// Helpers for the tests of small runs: sizes, a table of rows, the end of the output.
#pragma once
#include <string>

#include "train_support.h"

namespace weft::test {

inline const std::string sizes = " --layers 1 --d-model 16 --seq-len 8 --batch 4 ";
inline const std::string row_sizes = sizes + "--min-count 1 --threads 1 ";
inline const std::string tiny_sizes = " --layers 1 --d-model 8 --seq-len 8 ";

inline std::string small_csv() {
  std::string csv;
  const LabeledTexts rows = small_rows();
  for (std::size_t i = 0; i < rows.texts.size(); ++i)
    csv += "\"" + std::to_string(rows.labels[i] + 1) + "\",\"\",\"" + rows.texts[i] + "\"\n";
  return csv;
}

// Returns whether the last three lines of weft train's output are as documented.
inline bool ends_as_promised(const std::string& out) {
  const std::size_t memory = out.rfind("\npeak memory "), speed = out.rfind("\ntokens/s "),
                    loss = out.rfind("\nvalidation loss ");
  return memory != std::string::npos && loss < speed && speed < memory && out.find('\n', memory + 1) == out.size() - 1;
}

}  // namespace weft::test
