#include "rows.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/error.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"

namespace weft::python {

using namespace nb::literals;
using std::int64_t;

std::vector<std::string> bytes_of_rows(nb::handle array) {
  const Tensor numbers = raw::contiguous(tensor_of("rows", array, {DType::f32, DType::i8}));
  if (numbers.rank() != 2) throw Error("[rows] expected numbers (rows, n), got " + to_string(numbers.shape()));
  const std::size_t size = static_cast<std::size_t>(numbers.size(1)) * dtype_size(numbers.dtype());
  const char* from = static_cast<const char*>(numbers.raw());
  std::vector<std::string> rows;
  for (int64_t i = 0; i < numbers.size(0); ++i, from += size) rows.emplace_back(from, size);
  return rows;
}

std::vector<std::string> rows_of(nb::handle given) {
  if (!nb::isinstance<nb::list>(given)) return bytes_of_rows(given);
  std::vector<std::string> texts;
  if (!nb::try_cast(given, texts)) throw nb::type_error("rows: expected texts that can be encoded in UTF-8");
  return texts;
}

void add_rows(nb::module_& module) {
  nb::class_<LabeledOptions>(module, "LabelOptions")
      .def(
          "__init__",
          [](LabeledOptions* self, std::vector<std::string> known, bool are_texts) {
            new (self) LabeledOptions;
            self->labels = std::move(known);
            self->labels_are_texts = are_texts;
          },
          "known"_a, "are_texts"_a);
  nb::class_<Rows>(module, "Rows").def_prop_ro("frames", &Rows::frames).def_prop_ro("names", [](const Rows& rows) {
    return rows.all.names;
  });
  module.def(
      "text_rows",
      [](std::vector<std::string> texts, const std::vector<std::string>& labels, const LabeledOptions& options) {
        return Rows{labeled_rows(std::move(texts), labels, options)};
      },
      "texts"_a, "labels"_a, "options"_a);
  module.def(
      "frame_rows",
      [](nb::handle frames, int64_t channels, const std::vector<std::string>& labels, const LabeledOptions& options) {
        Rows rows{labeled_rows(bytes_of_rows(frames), labels, options)};
        rows.all.channels = channels;
        return rows;
      },
      "frames"_a, "channels"_a, "labels"_a, "options"_a);
  module.def(
      "picture_rows",
      [](nb::handle pictures, int64_t height, int64_t width, int64_t channels, const std::vector<std::string>& labels,
         const LabeledOptions& options) {
        Rows rows{labeled_rows(bytes_of_rows(pictures), labels, options)};
        rows.all.picture = {height, width, channels};
        return rows;
      },
      "pictures"_a, "height"_a, "width"_a, "channels"_a, "labels"_a, "options"_a);
}

}  // namespace weft::python
