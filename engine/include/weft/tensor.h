/// \file
/// Tensor: a handle to strided numbers in shared storage.
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

#pragma GCC visibility push(default)
namespace weft {

/// The type of a tensor's elements.
enum class DType {
  f32,   ///< float
  f64,   ///< double
  c64,   ///< std::complex<float>
  c128,  ///< std::complex<double>
  i64,   ///< std::int64_t
  bf16,  ///< bfloat16: a real dtype for storage. Operations that accept it read and write it, and compute in f32
  i8,    ///< std::int8_t: for masks (weft/pointwise.h) and quantized weights (weft/quantized.h). Nothing computes in it
};

const char* dtype_name(DType dtype) noexcept;  ///< "f32", …
std::size_t dtype_size(DType dtype) noexcept;  ///< bytes per element
/// c64 or c128.
inline bool is_complex(DType t) noexcept { return t == DType::c64 || t == DType::c128; }
/// f32 or f64: the dtypes for real computations.
inline bool is_real(DType t) noexcept { return t == DType::f32 || t == DType::f64; }
/// bf16, f32 or f64: the dtypes for storing real numbers.
inline bool is_floating(DType t) noexcept { return t == DType::bf16 || is_real(t); }
/// i64 or i8: never differentiated.
inline bool is_integer(DType t) noexcept { return t == DType::i64 || t == DType::i8; }
/// The dtype in which operations compute: f32 for bf16, otherwise the same.
inline DType computed_of(DType t) noexcept { return t == DType::bf16 ? DType::f32 : t; }
DType real_of(DType dtype) noexcept;     ///< c64 -> f32, c128 -> f64, others unchanged
DType complex_of(DType dtype) noexcept;  ///< f32 -> c64, f64 -> c128, others unchanged

/// The dtype of a C++ element type.
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

using Shape = std::vector<std::int64_t>;    ///< sizes of the axes; no axes: a single element
using Strides = std::vector<std::int64_t>;  ///< distances along the axes, in elements

std::string to_string(const Shape& shape);  ///< "(2, 3)"

/// The number of elements. Error if a size is negative or the product overflows.
std::int64_t numel(const Shape& shape);

/// Row-major strides.
Strides contiguous_strides(const Shape& shape);

/// Identifies a record by the serial number of its tape and its index there. Serial number 0 is no tape.
struct Node {
  std::uint64_t tape = 0;   ///< serial number
  std::int64_t index = -1;  ///< index of the record
};

namespace detail {
class [[gnu::visibility("hidden")]] Storage;
}

/// A handle to a strided array. Copying a Tensor copies the handle; the copies share the elements. Handles have the
/// thread safety of shared_ptr. Operations never write their inputs.
class Tensor {
 public:
  Tensor() = default;  ///< undefined

  /// Elements are uninitialized. All functions that create tensors give an Error if the shape is invalid or memory runs
  /// out.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32);
  /// All elements 0.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  /// All elements `value`.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
  /// A tensor of rank 0.
  static Tensor scalar(double value, DType dtype = DType::f32);
  /// Error if values.size() is not the number of elements of shape.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    Tensor t = from_values(shape, dtype_of<T>::value, values.size());
    T* out = t.mutable_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
    return t;
  }
  /// A tensor over elements that belong to `owner`, which is kept alive until the last handle is destroyed. The
  /// tensor is read-only.
  static Tensor borrow(std::shared_ptr<const void> owner, const void* data, const Shape& shape, DType dtype);

  /// False only for a default-constructed Tensor().
  bool defined() const noexcept { return storage_ != nullptr; }
  /// Sizes of the axes. This reference and that of strides() are valid while this handle or a copy of it lives and is
  /// not assigned to.
  const Shape& shape() const noexcept { return layout_ ? layout_->shape : no_axes(); }
  /// Strides of the axes, in elements.
  const Strides& strides() const noexcept { return layout_ ? layout_->strides : no_axes(); }
  /// The number of axes.
  std::int64_t rank() const noexcept { return static_cast<std::int64_t>(shape().size()); }
  std::int64_t size(std::int64_t dim) const;                ///< negative dims count from the last axis
  std::int64_t numel() const noexcept { return numel_; }    ///< the number of elements
  DType dtype() const noexcept { return dtype_; }           ///< the type of the elements
  std::int64_t offset() const noexcept { return offset_; }  ///< position of the first element in the storage
  /// Whether the elements are in row-major order without gaps.
  bool is_contiguous() const noexcept;

  /// A pointer to the first element. Error if T is not the tensor's dtype. mutable_data increases the storage's
  /// version.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_as(dtype_of<T>::value));
  }
  /// The same, for writing. Error for a borrowed tensor.
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(mutable_data_as(dtype_of<T>::value));
  }
  const void* raw() const noexcept;  ///< data() of any dtype
  void* mutable_raw();               ///< mutable_data() of any dtype

  /// The value of a tensor with one element. The dtype may be any real or integer one, including bf16.
  double item() const;
  /// All elements in row-major order. Error if T is not the tensor's dtype.
  template <class T>
  std::vector<T> to_vector() const;

  /// The same elements, without a node.
  Tensor detach() const;
  /// Another view of the same storage, without a node. Error if it would reach outside the storage.
  Tensor view(const Shape& shape, const Strides& strides, std::int64_t offset) const;

  /// Identifies the record that produced this tensor, for tapes.
  const Node& node() const noexcept { return node_; }
  /// Only tapes use this.
  void set_node(Node node) noexcept { node_ = node; }
  /// The storage, which all views of the same elements share. Null if undefined.
  const std::shared_ptr<detail::Storage>& storage() const noexcept { return storage_; }
  /// Increases with every mutable access. Distinct storages never have the same version.
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

/// The four strided loops that every tensor needs, for use inside operations. Tapes do not record them.
namespace raw {

void fill(Tensor& y, double value);     ///< y = value. Error if an integer y can't represent it
void copy(const Tensor& x, Tensor& y);  ///< y = x; same shape and dtype
Tensor convert(const Tensor& x,
               DType dtype);  ///< from integer to i64 and real, from real to real and complex; rounds once
void accumulate(Tensor& y, const Tensor& x);  ///< y += x; same shape and dtype, not i8; rounds once

/// x itself if it is contiguous, else a contiguous copy.
Tensor contiguous(const Tensor& x);

}  // namespace raw

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor dense = raw::contiguous(*this);
  const T* p = dense.data<T>();
  return std::vector<T>(p, p + numel_);
}

}  // namespace weft
#pragma GCC visibility pop
