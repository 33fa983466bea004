#include "weft/parameter.h"

#include <utility>

#include "tensor/storage.h"
#include "weft/detail/rebind.h"
#include "weft/detail/tensor_text.h"
#include "weft/os.h"
#include "weft/tape.h"

namespace weft {
using namespace detail;

struct Parameter::Data {
  Tensor value;
  Tensor scales;  // the scales of an i8 value, otherwise undefined
  Shape shape;    // of `value`, or of the weight that a value in 4 bits stands for
  bool trainable = true;
  const char* lent = nullptr;  // why the value must not be written, or null
  bool outline = false;        // all elements refer to one constant 0
  bool quantizable = false;
  bool quantized = false;  // implies `lent`
};

Parameter::Parameter(Tensor value, bool trainable) : data_(std::make_shared<Data>()) {
  if (!value.defined() || !is_floating(value.dtype()))
    throw Error("[parameter] expected a bf16, f32 or f64 tensor, got " + tensor_text(value));
  data_->value = raw::contiguous(value.detach());
  data_->shape = data_->value.shape();
  data_->trainable = trainable;
}

Parameter::operator Tensor() const {
  const Tensor& v = value();
  Tape* tape = data_->trainable ? Tape::recording() : nullptr;
  return tape ? tape->leaf(v, data_) : v;
}

const Tensor& Parameter::value() const {
  if (!data_) throw Error("[parameter] the parameter is undefined");
  return data_->value;
}

const Shape& Parameter::shape() const {
  (void)value();
  return data_->shape;
}

void Parameter::assign(const Tensor& v) {
  if (!v.defined()) throw Error("[parameter] expected a defined tensor to assign, got an undefined one");
  if (value().shape() != v.shape() || value().dtype() != v.dtype())
    throw Error("[parameter] expected " + tensor_text(value()) + ", got " + tensor_text(v));
  if (data_->lent) throw Error(lent_message(*this, "[parameter] the parameter"));
  if (data_->outline) return;
  if (v.storage() != data_->value.storage()) return raw::copy(v, data_->value);
  Tensor apart = Tensor::empty(v.shape(), v.dtype());  // v may be a view of the value itself
  raw::copy(v, apart);
  raw::copy(apart, data_->value);
}

void detail::rebind(const Parameter& parameter, Tensor value) {
  if (parameter.value().shape() != value.shape() || parameter.value().dtype() != value.dtype())
    throw Error("[parameter] rebind: expected " + tensor_text(parameter.value()) + ", got " + tensor_text(value));
  parameter.data_->value = value.detach();
  parameter.data_->outline = false;
}

Parameter detail::outline(const Shape& shape, DType dtype) {
  static constexpr double zero = 0;  // its bits are 0 in any dtype
  const Tensor element = Tensor::borrow(nullptr, &zero, {}, dtype);
  Parameter made(element);
  made.data_->value = element.view(shape, Strides(shape.size(), 0), 0);
  made.data_->shape = shape;
  made.data_->outline = true;
  return made;
}

void detail::lend(const Parameter& parameter, Tensor value, const char* why) {
  rebind(parameter, std::move(value));
  parameter.data_->lent = why;
  parameter.data_->trainable = false;
}

namespace {

// Whether a quantized value and its scales stand for a tensor of this shape.
bool stands_for(const Shape& shape, const Tensor& value, const Tensor& scales) {
  if (value.dtype() != DType::i8) return !scales.defined() && value.shape() == shape;
  if (!scales.defined() || shape.size() != 2) return false;
  const std::int64_t out = shape[0], in = shape[1];
  if (scales.dtype() == DType::f32) return value.shape() == shape && scales.shape() == Shape{out};
  return scales.dtype() == DType::bf16 && value.shape() == Shape{out, (in + 1) / 2} &&
         scales.shape() == Shape{out, (in + 31) / 32};
}

}  // namespace

void detail::lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why) {
  if (!stands_for(parameter.shape(), value, scales))
    throw Error(
        "[parameter] lend_quantized: expected a value of the parameter's shape with a scale for each row in 8 bits, or "
        "packed values with a scale for each group of 32 in 4 bits");
  Parameter::Data& data = *parameter.data_;
  data.value = value.detach();
  data.scales = scales.defined() ? scales.detach() : Tensor();
  data.outline = data.trainable = false;
  data.lent = why;
  data.quantized = true;
}

bool detail::in_mapped_file(const Tensor& tensor) noexcept {
  return tensor.defined() && tensor.storage()->in_mapped_file;
}

void detail::give_back(const Tensor& tensor) noexcept {
  if (in_mapped_file(tensor)) os::forget_pages(tensor.storage()->data(), tensor.storage()->bytes());
}

std::string detail::lent_message(const Parameter& parameter, const std::string& who) {
  return who + " " + parameter.data_->lent;
}

bool Parameter::trainable() const { return data_ && data_->trainable; }
bool Parameter::writable() const { return data_ && !data_->lent; }
bool Parameter::quantizable() const { return data_ && data_->quantizable; }
bool Parameter::quantized() const { return data_ && data_->quantized; }

void Parameter::set_quantizable(bool quantizable) {
  (void)value();
  if (data_->quantized) throw Error("[parameter] the parameter is quantized: set the mark before quantizing");
  data_->quantizable = quantizable;
}

const Tensor& Parameter::scales() const {
  (void)value();
  return data_->scales;
}

void Parameter::set_trainable(bool trainable) {
  (void)value();
  if (trainable && data_->lent) throw Error(lent_message(*this, "[parameter] the parameter"));
  data_->trainable = trainable;
}

}  // namespace weft
