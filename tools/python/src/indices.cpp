// Indexing a tensor in Python: x[key].
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/ops.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensors.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

// Whether a key is an array of indices or a mask: a list, or a numpy array or tensor with at least one axis.
bool is_array(nb::handle key) {
  if (nb::isinstance<nb::list>(key)) return true;
  return nb::hasattr(key, "ndim") && nb::hasattr(key, "dtype") && nb::cast<int64_t>(key.attr("ndim")) > 0;
}

// Whether a key is a mask: an array of bool, or a tensor of i8, which comparisons return.
bool is_mask(nb::handle key) {
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(key);
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  return kind == "b" || (nb::isinstance<Tensor>(key) && nb::cast<Tensor>(key).dtype() == DType::i8);
}

// Returns the indices, (k) i64, that an array of indices or a mask selects along an axis of the given size.
Tensor places_of(nb::handle key, int64_t size) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object array = numpy.attr("asarray")(key);
  if (is_mask(key)) {
    if (nb::cast<int64_t>(array.attr("ndim")) != 1 || nb::cast<int64_t>(array.attr("size")) != size)
      throw nb::index_error(("expected a mask of " + std::to_string(size) + " elements, got one of shape " +
                             nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("shape"))))))
                                .c_str());
    array = numpy.attr("flatnonzero")(array);
  }
  std::vector<int64_t> places;
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const bool are_integers = kind == "i" || kind == "u" || nb::cast<int64_t>(array.attr("size")) == 0;
  if (nb::cast<int64_t>(array.attr("ndim")) != 1 || !are_integers)
    throw nb::type_error("indices: expected an array (k) of integers, or a mask");
  for (const nb::handle place : array.attr("tolist")()) {
    int64_t at = size;
    if (nb::try_cast(place, at) && at < 0) at += size;
    if (at < 0 || at >= size)
      throw nb::index_error((std::string("index ") + nb::str(place).c_str() + " is out of range for an axis of " +
                             std::to_string(size) + " elements")
                                .c_str());
    places.push_back(at);
  }
  return Tensor::from(places, {static_cast<int64_t>(places.size())});
}

// Applies a Python index, which has one key for each axis. None adds an axis to the result. An integer removes an axis.
class Index {
 public:
  Index(const Tensor& x, nb::handle key) : result_(x) {
    const nb::tuple keys = nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key);
    int64_t used = 0;
    bool has_ellipsis = false;
    for (const nb::handle k : keys) {
      if (k.is(nb::ellipsis())) {
        if (std::exchange(has_ellipsis, true)) throw nb::index_error("expected at most one ellipsis in an index");
      } else if (!k.is_none()) {
        ++used;
      }
    }
    if (used > x.rank())
      throw nb::index_error(("expected at most " + std::to_string(x.rank()) + " indices for a tensor of shape " +
                             to_string(x.shape()) + ", got " + std::to_string(used))
                                .c_str());
    for (const nb::handle k : keys) take(k, x.rank() - used);
    take_all(x.rank() - axis_);
    if (has_other_axes_) result_ = reshape(result_, shape_);
  }

  Tensor result() const { return result_; }

 private:
  void take(nb::handle key, int64_t free) {
    if (key.is(nb::ellipsis())) take_all(free);
    else if (key.is_none()) {
      shape_.push_back(1);
      has_other_axes_ = true;
    } else if (nb::isinstance<nb::slice>(key)) take_slice(key);
    else if (is_array(key)) take_places(key);
    else if (PyIndex_Check(key.ptr()) && !PyBool_Check(key.ptr())) take_number(key);
    else
      throw nb::type_error(("indices: expected integers, slices, None, an ellipsis, or arrays of indices, got " +
                            nb::cast<std::string>(key.type().attr("__name__")))
                               .c_str());
  }

  void take_all(int64_t axes) {
    for (int64_t i = 0; i < axes; ++i) shape_.push_back(result_.size(axis_++));
  }

  void take_number(nb::handle key) {
    const int64_t size = result_.size(axis_), given = PyNumber_AsSsize_t(key.ptr(), PyExc_IndexError);
    if (given == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    const int64_t at = given < 0 ? given + size : given;
    if (at < 0 || at >= size)
      throw nb::index_error(
          ("index " + std::to_string(given) + " is out of range for an axis of " + std::to_string(size) + " elements")
              .c_str());
    result_ = slice(result_, axis_, at, at + 1);
    ++axis_;
    has_other_axes_ = true;
  }

  void take_places(nb::handle key) {
    const Tensor places = places_of(key, result_.size(axis_));
    result_ = index_select(result_, axis_++, places);
    shape_.push_back(places.numel());
  }

  void take_slice(nb::handle key) {
    const int64_t size = result_.size(axis_);
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(key.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
    const int64_t count = PySlice_AdjustIndices(size, &start, &stop, step);
    const int64_t last = count > 0 ? start + (count - 1) * step : start;
    if (count == 0) result_ = slice(result_, axis_, 0, 0);
    else if (step > 0) result_ = slice(result_, axis_, start, last + 1, step);
    else result_ = flip(slice(result_, axis_, last, start + 1, -step), axis_);
    shape_.push_back(count);
    ++axis_;
  }

  Tensor result_;
  Shape shape_;
  int64_t axis_ = 0;  // the next axis of result_ to index
  bool has_other_axes_ = false;
};

}  // namespace

Tensor indexed(const Tensor& x, nb::handle key) {
  const bool is_full_mask =
      is_array(key) && nb::cast<int64_t>(nb::module_::import_("numpy").attr("ndim")(key)) > 1 && is_mask(key);
  if (!is_full_mask) return Index(x, key).result();
  if (nb::cast<Shape>(nb::module_::import_("numpy").attr("shape")(key)) != x.shape())
    throw nb::index_error(("expected a mask of the tensor's shape " + to_string(x.shape())).c_str());
  const nb::object flat = nb::module_::import_("numpy").attr("ravel")(key).attr("astype")("bool");
  return index_select(reshape(x, {-1}), 0, places_of(flat, x.numel()));
}

}  // namespace weft::python
