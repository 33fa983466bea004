/// \file
/// Tensor: a handle to a strided array of numbers in shared storage.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/bfloat16.h"
#include "weft/error.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The type of a tensor's elements.
enum class DType {
  f32,   ///< float
  f64,   ///< double
  c64,   ///< std::complex<float>
  c128,  ///< std::complex<double>
  i64,   ///< std::int64_t
  /// bfloat16: for storing real numbers. Operations that accept bf16 read and write it, and compute in f32.
  bf16,
  /// std::int8_t: for masks (weft/pointwise.h) and quantized weights (weft/quantized.h). No operation computes in i8.
  i8,
};

const char* dtype_name(DType dtype) noexcept;  ///< the name, such as "f32"
std::size_t dtype_size(DType dtype) noexcept;  ///< bytes per element
/// Whether t is c64 or c128.
inline bool is_complex(DType t) noexcept { return t == DType::c64 || t == DType::c128; }
/// Whether t is f32 or f64, the dtypes for real computations.
inline bool is_real(DType t) noexcept { return t == DType::f32 || t == DType::f64; }
/// Whether t is bf16, f32 or f64, the dtypes for storing real numbers.
inline bool is_floating(DType t) noexcept { return t == DType::bf16 || is_real(t); }
/// Whether t is i64 or i8. Integer tensors have no gradients.
inline bool is_integer(DType t) noexcept { return t == DType::i64 || t == DType::i8; }
/// The dtype in which operations compute: f32 for bf16, otherwise t itself.
inline DType computed_of(DType t) noexcept { return t == DType::bf16 ? DType::f32 : t; }
DType real_of(DType dtype) noexcept;     ///< c64 -> f32 and c128 -> f64; other dtypes are returned unchanged
DType complex_of(DType dtype) noexcept;  ///< f32 -> c64 and f64 -> c128; other dtypes are returned unchanged

/// Maps a C++ element type to its dtype: dtype_of<float>::value is DType::f32.
template <class T>
struct dtype_of;
/// \cond
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<std::complex<float>> {
  static constexpr DType value = DType::c64;
};
template <>
struct dtype_of<std::complex<double>> {
  static constexpr DType value = DType::c128;
};
template <>
struct dtype_of<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of<std::int8_t> {
  static constexpr DType value = DType::i8;
};
/// \endcond

using Shape = std::vector<std::int64_t>;    ///< the size of each axis; empty for a tensor of rank 0
using Strides = std::vector<std::int64_t>;  ///< for each axis, the distance between neighboring elements, in elements

std::string to_string(const Shape& shape);  ///< the shape as text, such as "(2, 3)"

/// The number of elements. Error if a size is negative or the product overflows.
std::int64_t numel(const Shape& shape);

/// The strides of a contiguous row-major tensor of this shape, in elements.
Strides contiguous_strides(const Shape& shape);

/// Identifies a record on a tape (weft/tape.h). The record is a leaf or an operation.
struct Node {
  std::uint64_t tape = 0;   ///< serial number of the tape; 0 means no tape
  std::int64_t index = -1;  ///< index of the record on that tape
};

namespace detail {
class WEFT_HIDDEN Storage;
}

/// A handle to a strided array. Copying a Tensor copies only the handle, so the copies share the elements. Handles have
/// the thread safety of shared_ptr. Operations never write to their inputs.
class Tensor {
 public:
  Tensor() = default;  ///< an undefined tensor

  /// A tensor with uninitialized elements. All functions that create tensors throw an Error if the shape is invalid or
  /// memory runs out.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32);
  /// A tensor in which all elements are 0.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  /// A tensor in which all elements are `value`.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
  /// A tensor of rank 0, which has one element.
  static Tensor scalar(double value, DType dtype = DType::f32);
  /// A tensor with a copy of these values, in row-major order. Error if values.size() is not the number of elements of
  /// the shape.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    Tensor t = from_values(shape, dtype_of<T>::value, values.size());
    T* out = t.mutable_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
    return t;
  }
  /// A read-only tensor whose elements are at `data`, in row-major order, and belong to `owner`. The tensor keeps
  /// `owner` alive until the last handle to the elements is destroyed.
  static Tensor borrow(std::shared_ptr<const void> owner, const void* data, const Shape& shape, DType dtype);

  /// False only for a default-constructed Tensor().
  bool defined() const noexcept { return storage_ != nullptr; }
  /// The sizes of the axes. The references that shape() and strides() return stay valid until this handle and all its
  /// copies are destroyed or assigned to.
  const Shape& shape() const noexcept { return layout_ ? layout_->shape : no_axes(); }
  /// The strides of the axes, in elements.
  const Strides& strides() const noexcept { return layout_ ? layout_->strides : no_axes(); }
  /// The number of axes.
  std::int64_t rank() const noexcept { return static_cast<std::int64_t>(shape().size()); }
  std::int64_t size(std::int64_t dim) const;              ///< size of an axis; negative dims count from the last axis
  std::int64_t numel() const noexcept { return numel_; }  ///< the number of elements
  DType dtype() const noexcept { return dtype_; }         ///< the type of the elements
  /// The position of the first element in the storage, in elements.
  std::int64_t offset() const noexcept { return offset_; }
  /// Whether the elements are in row-major order without gaps.
  bool is_contiguous() const noexcept;

  /// A pointer to the first element. Error if T is not the tensor's element type.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_as(dtype_of<T>::value));
  }
  /// Like data(), but for writing. Increases the storage's version. Error for a borrowed tensor.
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(mutable_data_as(dtype_of<T>::value));
  }
  const void* raw() const noexcept;  ///< like data(), for any dtype
  void* mutable_raw();               ///< like mutable_data(), for any dtype

  /// The value of a tensor with one element. Error if the tensor is complex or does not have exactly one element.
  double item() const;
  /// A copy of all elements in row-major order. Error if T is not the tensor's element type.
  template <class T>
  std::vector<T> to_vector() const;

  /// A handle to the same elements that is on no tape, so that no gradient flows through it.
  Tensor detach() const;
  /// Another view of the same storage, on no tape. Strides and offset are in elements. Error if the view would reach
  /// outside the storage.
  Tensor view(const Shape& shape, const Strides& strides, std::int64_t offset) const;

  /// The record that produced this tensor, for use by tapes.
  const Node& node() const noexcept { return node_; }
  /// Only tapes use this.
  void set_node(Node node) noexcept { node_ = node; }
  /// The storage, which all views of the same elements share. Null if the tensor is undefined.
  const std::shared_ptr<detail::Storage>& storage() const noexcept { return storage_; }
  /// The version of the storage. It increases with every mutable access. Distinct storages never have the same version.
  std::uint64_t version() const noexcept;
  /// Whether no other handle shares the storage.
  bool unique() const noexcept { return storage_.use_count() == 1; }

 private:
  struct Layout {
    Shape shape;
    Strides strides;
  };
  static const Shape& no_axes() noexcept;
  static Tensor from_values(const Shape& shape, DType dtype, std::size_t count);
  const void* data_as(DType dtype) const;
  void* mutable_data_as(DType dtype);

  std::shared_ptr<detail::Storage> storage_;
  std::shared_ptr<const Layout> layout_;  // shared by copies, because operations copy handles often; null: no axes
  std::int64_t offset_ = 0;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::f32;
  Node node_;
};

/// Basic loops over tensors with any strides, for use inside operations. Tapes do not record them.
namespace raw {

/// Sets all elements of y to `value`. Error if y has an integer dtype that can't represent it.
void fill(Tensor& y, double value);
/// y = x. Error unless both have the same shape and dtype.
void copy(const Tensor& x, Tensor& y);
/// A copy of x in another dtype. Each element is rounded once. Error for a conversion from complex to real, from
/// floating point to integer, or from i64 to i8.
Tensor convert(const Tensor& x, DType dtype);
/// y += x. Each sum is rounded once. Error unless both have the same shape and dtype, which must not be i8.
void accumulate(Tensor& y, const Tensor& x);

/// Returns x itself if it is contiguous, otherwise a contiguous copy.
Tensor contiguous(const Tensor& x);

}  // namespace raw

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor dense = raw::contiguous(*this);
  const T* p = dense.data<T>();
  return std::vector<T>(p, p + numel_);
}

}  // namespace weft
WEFT_PUBLIC_END
