#include "weft/parameter.h"

#include "weft/detail/rebind.h"
#include "weft/tape.h"

namespace weft {
using namespace detail;

struct Parameter::Data {
  Tensor value;
  bool trainable = true;
};

Parameter::Parameter(Tensor value, bool trainable) : data_(std::make_shared<Data>()) {
  if (!value.defined() || !is_real(value.dtype())) throw Error("[parameter] expected an f32 or f64 tensor");
  data_->value = raw::contiguous(value.detach());
  data_->trainable = trainable;
}

Parameter::operator Tensor() const {
  const Tensor& v = value();
  Tape* tape = data_->trainable ? Tape::recording() : nullptr;
  return tape ? tape->leaf(v, data_) : v;
}

const Tensor& Parameter::value() const {
  if (!data_) throw Error("[parameter] undefined parameter");
  return data_->value;
}

void Parameter::assign(const Tensor& v) {
  if (!v.defined()) throw Error("[parameter] assigned an undefined tensor");
  if (value().shape() != v.shape() || value().dtype() != v.dtype())
    throw Error(std::string("[parameter] expected ") + dtype_name(value().dtype()) + " " + to_string(value().shape()) +
                ", got " + dtype_name(v.dtype()) + " " + to_string(v.shape()));
  if (v.storage() != data_->value.storage()) return raw::copy(v, data_->value);
  Tensor apart = Tensor::empty(v.shape(), v.dtype());  // v may be a view of the value itself
  raw::copy(v, apart);
  raw::copy(apart, data_->value);
}

void detail::rebind(const Parameter& parameter, Tensor value) {
  if (parameter.value().shape() != value.shape() || parameter.value().dtype() != value.dtype())
    throw Error("[parameter] rebind: shape or dtype differs");
  parameter.data_->value = value.detach();
}

Parameter detail::as_it_lies(Tensor value) {
  Parameter made(Tensor::zeros({}, value.dtype()));
  made.data_->value = value.detach();
  return made;
}

bool Parameter::trainable() const { return data_ && data_->trainable; }

void Parameter::set_trainable(bool trainable) {
  (void)value();
  data_->trainable = trainable;
}

}  // namespace weft
