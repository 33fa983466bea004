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
  bf16,  ///< bfloat16: a real dtype of storage. Operations that take it read and write it, and compute in f32
  i8,    ///< std::int8_t: of storage alone, for quantised weights (weft/quantized.h). Operations that compute refuse it
};

const char* dtype_name(DType dtype) noexcept;  ///< "f32", …
std::size_t dtype_size(DType dtype) noexcept;  ///< bytes an element
/// c64 or c128.
inline bool is_complex(DType t) noexcept { return t == DType::c64 || t == DType::c128; }
/// f32 or f64: what is computed in.
inline bool is_real(DType t) noexcept { return t == DType::f32 || t == DType::f64; }
/// bf16, f32 or f64: what real numbers are stored in.
inline bool is_floating(DType t) noexcept { return t == DType::bf16 || is_real(t); }
/// i64 or i8: never differentiated.
inline bool is_integer(DType t) noexcept { return t == DType::i64 || t == DType::i8; }
/// What operations compute in: bf16 -> f32, else itself.
inline DType computed_of(DType t) noexcept { return t == DType::bf16 ? DType::f32 : t; }
DType real_of(DType dtype) noexcept;     ///< c64 -> f32, c128 -> f64, else itself
DType complex_of(DType dtype) noexcept;  ///< f32 -> c64, f64 -> c128, else itself

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

using Shape = std::vector<std::int64_t>;    ///< sizes of the axes; none: a single element
using Strides = std::vector<std::int64_t>;  ///< in elements

std::string to_string(const Shape& shape);  ///< "(2, 3)"

/// The number of elements. Error if a size is negative or the product overflows.
std::int64_t numel(const Shape& shape);

/// Row-major strides.
Strides contiguous_strides(const Shape& shape);

/// A record of a tape: the tape's serial number and the index there. Serial 0 is no tape.
struct Node {
  std::uint64_t tape = 0;   ///< serial number
  std::int64_t index = -1;  ///< of the record
};

namespace detail {
class [[gnu::visibility("hidden")]] Storage;
}

/// Copying a Tensor copies the handle; the elements are shared. Handles behave like shared_ptr across threads.
/// Operations never write their inputs.
class Tensor {
 public:
  Tensor() = default;  ///< undefined

  /// Elements are not set. All constructors: Error if the shape is invalid or memory runs out.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32);
  /// All elements 0.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  /// All elements `value`.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
  /// Of rank 0.
  static Tensor scalar(double value, DType dtype = DType::f32);
  /// Error if values.size() is not the number of elements of shape.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    Tensor t = from_values(shape, dtype_of<T>::value, values.size());
    T* out = t.mutable_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
    return t;
  }
  /// A tensor over elements owned by `owner`, which is kept until the last handle goes. Never written through.
  static Tensor borrow(std::shared_ptr<const void> owner, const void* data, const Shape& shape, DType dtype);

  /// False for a Tensor() alone.
  bool defined() const noexcept { return storage_ != nullptr; }
  /// Sizes of the axes; as strides(), for as long as this handle or a copy of it lives and is not assigned to.
  const Shape& shape() const noexcept { return layout_ ? layout_->shape : no_axes(); }
  /// Of the axes, in elements.
  const Strides& strides() const noexcept { return layout_ ? layout_->strides : no_axes(); }
  /// The number of axes.
  std::int64_t rank() const noexcept { return static_cast<std::int64_t>(shape().size()); }
  std::int64_t size(std::int64_t dim) const;                ///< negative dims count from the end
  std::int64_t numel() const noexcept { return numel_; }    ///< of elements
  DType dtype() const noexcept { return dtype_; }           ///< of the elements
  std::int64_t offset() const noexcept { return offset_; }  ///< of the first element in the storage
  bool is_contiguous() const noexcept;                      ///< elements in row-major order without gaps

  /// The first element. Error if T is not the tensor's dtype. mutable_data raises the storage's version.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_as(dtype_of<T>::value));
  }
  /// The same, to be written. Error for a borrowed tensor.
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(mutable_data_as(dtype_of<T>::value));
  }
  const void* raw() const noexcept;  ///< data() of any dtype
  void* mutable_raw();               ///< mutable_data() of any dtype

  /// The value of a tensor of one element, of any real or integer dtype, bf16 too.
  double item() const;
  /// All elements in row-major order. Error if T is not the tensor's dtype.
  template <class T>
  std::vector<T> to_vector() const;

  /// The same elements without a node.
  Tensor detach() const;
  /// Another view of the same storage, without a node. Error if it would reach outside the storage.
  Tensor view(const Shape& shape, const Strides& strides, std::int64_t offset) const;

  /// The record that gave it, for tapes.
  const Node& node() const noexcept { return node_; }
  /// For tapes.
  void set_node(Node node) noexcept { node_ = node; }
  /// What views of the same elements share; null if undefined.
  const std::shared_ptr<detail::Storage>& storage() const noexcept { return storage_; }
  std::uint64_t version() const noexcept;  ///< raised by every mutable access; no two storages share one
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
  std::shared_ptr<const Layout> layout_;  // shared by copies, which operations make many of; null: no axes
  std::int64_t offset_ = 0;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::f32;
  Node node_;
};

/// The four strided loops every tensor needs. None is recorded on a tape: for use inside operations.
namespace raw {

void fill(Tensor& y, double value);     ///< y = value. Error if an integer y can't hold it
void copy(const Tensor& x, Tensor& y);  ///< y = x; same shape and dtype
Tensor convert(const Tensor& x,
               DType dtype);  ///< integer to i64 and real, real to one another and to complex, rounded once
void accumulate(Tensor& y, const Tensor& x);  ///< y += x; same shape and dtype, not i8; rounded once

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
