#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weft::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct KnownType {
  DType dtype;
  Code code;
  std::uint8_t bits;
  const char* name;  // numpy's name
};
constexpr KnownType known_types[] = {
    {DType::f32, Code::Float, 32, "float32"},
    {DType::f64, Code::Float, 64, "float64"},
    {DType::c64, Code::Complex, 64, "complex64"},
    {DType::c128, Code::Complex, 128, "complex128"},
    {DType::i64, Code::Int, 64, "int64"},
    {DType::bf16, Code::Bfloat, 16, "bfloat16"},
    {DType::i8, Code::Int, 8, "int8"},
};

const KnownType& known(DType dtype) {
  return *std::find_if(std::begin(known_types), std::end(known_types),
                       [&](const KnownType& type) { return type.dtype == dtype; });
}

std::optional<DType> dtype_of_array(const nb::dlpack::dtype& given) {
  for (const KnownType& type : known_types)
    if (given.code == static_cast<std::uint8_t>(type.code) && given.bits == type.bits && given.lanes == 1)
      return type.dtype;
  return std::nullopt;
}

std::string names_of(const std::vector<DType>& dtypes) {
  std::string names;
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    names += std::string(i == 0 ? "" : i + 1 < dtypes.size() ? ", " : " or ") + known(dtypes[i]).name;
  return names;
}

[[noreturn]] void refuse(const char* what, const std::string& expected, const std::string& got) {
  throw nb::type_error((std::string(what) + ": expected " + expected + ", got " + got).c_str());
}

std::string text_of(const nb::object& object) { return nb::cast<std::string>(nb::str(nb::handle(object))); }

std::string name_of_type(nb::handle object) { return text_of(object.type().attr("__name__")); }

// The name of the dtype of an array of any library, such as "int32".
std::string dtype_text(nb::handle array) {
  return nb::hasattr(array, "dtype") ? text_of(array.attr("dtype")) : name_of_type(array);
}

// Whether the array is a PyTorch tensor whose gradient would be lost.
bool wants_gradient(nb::handle array) {
  return nb::hasattr(array, "requires_grad") && nb::cast<bool>(array.attr("requires_grad"));
}

// Applies a pending conjugation or negation. PyTorch may store these as flags of a tensor, which DLPack ignores.
nb::object resolved(nb::handle array) {
  nb::object result = nb::borrow(array);
  for (const char* bit : {"conj", "neg"}) {
    const std::string is = std::string("is_") + bit;
    if (nb::hasattr(result, is.c_str()) && nb::cast<bool>(result.attr(is.c_str())()))
      result = result.attr((std::string("resolve_") + bit).c_str())();
  }
  return result;
}

}  // namespace

using Array = nb::ndarray<nb::ro>;

Tensor tensor_of(const char* what, nb::handle array, const std::vector<DType>& dtypes) {
  const std::string expected = "an array of " + names_of(dtypes) + " in the CPU's memory";
  if (wants_gradient(array)) refuse(what, expected, "a tensor that requires grad: use the functions of weft.torch");
  auto given = std::make_shared<Array>();
  if (!nb::try_cast(resolved(array), *given, false)) refuse(what, expected, name_of_type(array));
  if (given->device_type() != nb::device::cpu::value) refuse(what, expected, "an array on a different device");
  const std::optional<DType> dtype = dtype_of_array(given->dtype());
  if (!dtype || std::find(dtypes.begin(), dtypes.end(), *dtype) == dtypes.end())
    refuse(what, expected, dtype_text(array));

  Shape shape;
  Strides strides;
  std::int64_t first = 0, last = 0;  // offsets of the lowest and highest element, relative to the first
  for (std::size_t i = 0; i < given->ndim(); ++i) {
    shape.push_back(static_cast<std::int64_t>(given->shape(i)));
    strides.push_back(shape.back() > 1 ? given->stride(i) : 0);
    const std::int64_t reach = shape.back() > 0 ? (shape.back() - 1) * strides.back() : 0;
    (reach < 0 ? first : last) += reach;
  }
  if (numel(shape) == 0) return Tensor::empty(shape, *dtype);
  const auto bytes = static_cast<std::int64_t>(dtype_size(*dtype));
  const auto* begin = static_cast<const char*>(given->data()) + first * bytes;
  if (reinterpret_cast<std::uintptr_t>(begin) % std::min<std::uintptr_t>(dtype_size(*dtype), alignof(std::int64_t)) !=
      0)
    refuse(what, "elements at addresses that are multiples of their size", "unaligned elements; copy the array first");
  return Tensor::borrow(given, begin, {last - first + 1}, *dtype).view(shape, strides, -first);
}

nb::any array_of(Tensor result, bool torch) {
  if (!torch && result.dtype() == DType::bf16) result = raw::convert(result, DType::f32);
  const auto* kept = new Tensor(std::move(result));
  const nb::capsule owner(kept, [](void* tensor) noexcept { delete static_cast<Tensor*>(tensor); });
  const std::vector<std::size_t> shape(kept->shape().begin(), kept->shape().end());
  const KnownType& type = known(kept->dtype());
  const nb::dlpack::dtype dtype{static_cast<std::uint8_t>(type.code), type.bits, 1};
  void* data = const_cast<void*>(kept->raw());
  const std::int64_t* strides = kept->strides().data();
  nb::object array;
  if (torch) array = nb::cast(nb::ndarray<nb::pytorch>(data, shape.size(), shape.data(), owner, strides, dtype));
  else array = nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, strides, dtype));
  return nb::steal<nb::any>(array.release());
}

}  // namespace weft::python
