// Rows that a Python program trains a model on: texts or frames of numbers, each with a label.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/labelled_texts.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::python {

// Rows as the library takes them. Their labels are names; numbers, several labels and tags are written as
// weft/target_rows.h reads them.
struct Rows {
  LabelledTexts all;

  // Frames of a row, which is the same number for all; 0: texts or pictures.
  std::int64_t frames() const {
    if (all.channels == 0 || all.texts.empty()) return 0;
    return static_cast<std::int64_t>(all.texts[0].size() / sizeof(float)) / all.channels;
  }
};

// The bytes of each row of an array (rows, n), as LabelledTexts holds frames (f32) and pictures (i8, for bytes).
std::vector<std::string> bytes_of_rows(nanobind::handle array);

void add_rows(nanobind::module_& module);

}  // namespace weft::python
