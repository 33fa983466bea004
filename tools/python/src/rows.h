// Training rows of a Python program: texts, frames of numbers or pictures, each with a label.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/labeled_texts.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::python {

// Rows in the library's format. Labels are texts. Numbers, several labels and tags are written in the format that
// weft/target_rows.h reads.
struct Rows {
  LabeledTexts all;

  // Returns the number of frames in a row, which is the same for all rows, or 0 for texts and pictures.
  std::int64_t frames() const {
    if (all.channels == 0 || all.texts.empty()) return 0;
    return static_cast<std::int64_t>(all.texts[0].size() / sizeof(float)) / all.channels;
  }
};

// Returns the bytes of each row of an array (rows, n). LabeledTexts stores frames (f32) and pictures (bytes, here i8)
// in this format.
std::vector<std::string> bytes_of_rows(nanobind::handle array);

// Returns rows in the format of LabeledTexts: texts from a list of str, otherwise the bytes of each row of an array.
std::vector<std::string> rows_of(nanobind::handle given);

void add_rows(nanobind::module_& module);

}  // namespace weft::python
