#include "rows.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/error.h>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.h"

namespace weft::python {

using namespace nb::literals;

std::vector<std::string> bytes_of_rows(nb::handle array) {
  const Tensor numbers = raw::contiguous(tensor_of("rows", array, {DType::f32, DType::i8}));
  if (numbers.rank() != 2) throw Error("[rows] expected numbers (rows, n), got " + to_string(numbers.shape()));
  const std::size_t size = static_cast<std::size_t>(numbers.size(1)) * dtype_size(numbers.dtype());
  const char* from = static_cast<const char*>(numbers.raw());
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < numbers.size(0); ++i, from += size) rows.emplace_back(from, size);
  return rows;
}

namespace {

Rows labelled(std::vector<std::string> texts, const std::vector<std::int64_t>& labels,
              const std::vector<std::string>& names) {
  Rows rows;
  rows.all.texts = std::move(texts);
  rows.all.labels = labels;
  rows.all.names = names;
  return rows;
}

}  // namespace

void add_rows(nb::module_& module) {
  nb::class_<Rows>(module, "Rows").def_prop_ro("frames", &Rows::frames);
  module.def("text_rows", labelled, "texts"_a, "labels"_a, "names"_a);
  module.def(
      "frame_rows",
      [](nb::handle frames, std::int64_t channels, const std::vector<std::int64_t>& labels,
         const std::vector<std::string>& names) {
        Rows rows = labelled(bytes_of_rows(frames), labels, names);
        rows.all.channels = channels;
        return rows;
      },
      "frames"_a, "channels"_a, "labels"_a, "names"_a);
  module.def(
      "picture_rows",
      [](nb::handle pictures, std::int64_t height, std::int64_t width, std::int64_t channels,
         const std::vector<std::int64_t>& labels, const std::vector<std::string>& names) {
        Rows rows = labelled(bytes_of_rows(pictures), labels, names);
        rows.all.picture = {height, width, channels};
        return rows;
      },
      "pictures"_a, "height"_a, "width"_a, "channels"_a, "labels"_a, "names"_a);
}

}  // namespace weft::python
