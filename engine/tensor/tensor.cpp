#include "weft/tensor.h"

#include <limits>
#include <new>

#include "tensor/storage.h"
#include "weft/context.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"

namespace weft {
using namespace detail;

template <>
struct detail::EnumNames<DType> {
  static constexpr const char* what = "dtype";
  static constexpr EnumName<DType> all[] = {{DType::f32, "f32"},   {DType::f64, "f64"}, {DType::c64, "c64"},
                                            {DType::c128, "c128"}, {DType::i64, "i64"}, {DType::bf16, "bf16"},
                                            {DType::i8, "i8"}};
};

namespace {

// Throws std::bad_alloc for more bytes than a pointer difference can count. A 32-bit process may have this memory.
template <class... Source>
std::shared_ptr<Storage> make_storage(std::int64_t numel, DType dtype, Source... source) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(numel) * dtype_size(dtype);
  constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  if (bytes > most) throw std::bad_alloc();
  return std::make_shared<Storage>(std::move(source)..., static_cast<std::size_t>(bytes));
}

}  // namespace

const char* dtype_name(DType dtype) noexcept { return enum_name(dtype); }

std::size_t dtype_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::i8: return 1;
    case DType::bf16: return 2;
    case DType::f32: return 4;
    case DType::c128: return 16;
    default: return 8;
  }
}

DType real_of(DType dtype) noexcept {
  return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}

DType complex_of(DType dtype) noexcept {
  return dtype == DType::f32 ? DType::c64 : dtype == DType::f64 ? DType::c128 : dtype;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

// The number of elements is limited to 2^58, so that the number of bytes can't overflow 64 bits either.
std::int64_t numel(const Shape& shape) {
  constexpr std::int64_t limit = std::int64_t{1} << 58;
  std::int64_t count = 1;
  bool zero = false;
  for (std::int64_t size : shape) {
    if (size < 0) throw Error("[tensor] expected sizes of at least 0, got shape " + to_string(shape));
    if (size == 0) zero = true;
    else if (count > limit / size) throw Error("[tensor] shape " + to_string(shape) + " has too many elements");
    else count *= size;
  }
  return zero ? 0 : count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

const Shape& Tensor::no_axes() noexcept {
  static const Shape none;
  return none;
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  return guard_memory("tensor", [&] {
    Tensor t;
    t.numel_ = weft::numel(shape);
    t.layout_ = std::make_shared<const Layout>(Layout{shape, contiguous_strides(shape)});
    t.dtype_ = dtype;
    t.storage_ = make_storage(t.numel_, dtype, Context::current().memory_handle());
    return t;
  });
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) { return full(shape, 0.0, dtype); }

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  Tensor t = empty(shape, dtype);
  raw::fill(t, value);
  return t;
}

Tensor Tensor::scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor Tensor::from_values(const Shape& shape, DType dtype, std::size_t count) {
  if (static_cast<std::size_t>(weft::numel(shape)) != count)
    throw Error("[tensor] shape " + to_string(shape) + " needs " + std::to_string(weft::numel(shape)) +
                " values, got " + std::to_string(count));
  return empty(shape, dtype);
}

Tensor Tensor::borrow(std::shared_ptr<const void> owner, const void* data, const Shape& shape, DType dtype) {
  return guard_memory("tensor", [&] {
    Tensor t;
    t.numel_ = weft::numel(shape);
    t.layout_ = std::make_shared<const Layout>(Layout{shape, contiguous_strides(shape)});
    t.dtype_ = dtype;
    t.storage_ = make_storage(t.numel_, dtype, std::move(owner), data);
    return t;
  });
}

std::int64_t Tensor::size(std::int64_t dim) const {
  if (dim < -rank() || dim >= rank())
    throw Error("[tensor] dimension " + std::to_string(dim) + " is out of range for a tensor of shape " +
                to_string(shape()));
  return shape()[static_cast<std::size_t>(dim < 0 ? dim + rank() : dim)];
}

bool Tensor::is_contiguous() const noexcept {
  std::int64_t step = 1;
  if (numel_ <= 1) return true;
  const Shape& sizes = shape();
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides()[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

const void* Tensor::raw() const noexcept {
  if (!storage_) return nullptr;
  return static_cast<const char*>(storage_->data()) + offset_ * static_cast<std::int64_t>(dtype_size(dtype_));
}

void* Tensor::mutable_raw() {
  if (!storage_) throw Error("[tensor] the tensor is undefined");
  return static_cast<char*>(storage_->mutable_data()) + offset_ * static_cast<std::int64_t>(dtype_size(dtype_));
}

const void* Tensor::data_as(DType dtype) const {
  if (!storage_) throw Error("[tensor] the tensor is undefined");
  if (dtype != dtype_)
    throw Error(std::string("[tensor] elements of dtype ") + dtype_name(dtype) +
                " were requested, but the tensor has dtype " + dtype_name(dtype_));
  return raw();
}

void* Tensor::mutable_data_as(DType dtype) {
  (void)data_as(dtype);
  return mutable_raw();
}

double Tensor::item() const {
  if (numel_ != 1 || is_complex(dtype_))
    throw Error("[item] expected a real tensor with one element, got " + tensor_text(*this));
  if (dtype_ == DType::f32) return *data<float>();
  if (dtype_ == DType::f64) return *data<double>();
  if (dtype_ == DType::bf16) return static_cast<double>(static_cast<float>(*data<bfloat16>()));
  if (dtype_ == DType::i8) return static_cast<double>(*data<std::int8_t>());
  return static_cast<double>(*data<std::int64_t>());
}

Tensor Tensor::detach() const {
  return guard_memory("tensor", [&] {
    Tensor t = *this;
    t.node_ = Node{};
    return t;
  });
}

Tensor Tensor::view(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  return guard_memory("view", [&] {
    if (!storage_) throw Error("[tensor] the tensor is undefined");
    if (shape.size() != strides.size())
      throw Error("[view] expected shape and strides of the same length, got " + std::to_string(shape.size()) +
                  " and " + std::to_string(strides.size()));
    Tensor t = detach();
    t.numel_ = weft::numel(shape);
    t.layout_ = std::make_shared<const Layout>(Layout{shape, strides});
    t.offset_ = offset;
    const auto elements = static_cast<std::int64_t>(storage_->bytes() / dtype_size(dtype_));
    std::int64_t low = offset, high = offset;
    bool outside = false;
    for (std::size_t i = 0; i < shape.size() && t.numel_ > 0; ++i) {
      std::int64_t reach = 0, &end = strides[i] < 0 ? low : high;
      outside |= __builtin_mul_overflow(strides[i], shape[i] - 1, &reach) || __builtin_add_overflow(end, reach, &end);
    }
    if (t.numel_ > 0 && (outside || low < 0 || high >= elements))
      throw Error("[view] shape " + to_string(shape) + " reaches outside a storage of " + std::to_string(elements) +
                  " elements");
    return t;
  });
}

std::uint64_t Tensor::version() const noexcept { return storage_ ? storage_->version() : 0; }

}  // namespace weft
