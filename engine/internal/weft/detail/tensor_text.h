// Describes a tensor for messages: "an f32 tensor of shape (2, 3)".
#pragma once
#include <string>

#include "weft/tensor.h"

namespace weft::detail {

inline std::string tensor_text(DType dtype, const Shape& shape) {
  const std::string name = dtype_name(dtype);
  return (name[0] == 'f' || name[0] == 'i' ? "an " : "a ") + name + " tensor of shape " + to_string(shape);
}

inline std::string tensor_text(const Tensor& x) {
  return x.defined() ? tensor_text(x.dtype(), x.shape()) : "an undefined tensor";
}

}  // namespace weft::detail
