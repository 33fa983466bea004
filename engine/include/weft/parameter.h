/// \file
/// Parameter: a trainable tensor of a model, and lists of parameters with their names.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

class Parameter;
namespace detail {
WEFT_HIDDEN void rebind(const Parameter& parameter, Tensor value);
WEFT_HIDDEN Parameter outline(const Shape& shape, DType dtype);
WEFT_HIDDEN void lend(const Parameter& parameter, Tensor value, const char* why);
WEFT_HIDDEN void lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why);
WEFT_HIDDEN std::string lent_message(const Parameter& parameter, const std::string& who);
}  // namespace detail

/// A handle to a trainable tensor. Copies of the handle share the value and all other properties.
class Parameter {
 public:
  Parameter() = default;  ///< an undefined parameter
  /// A parameter with this value. Error unless the value is bf16, f32 or f64. The optimizers train only f32 and f64
  /// parameters.
  explicit Parameter(Tensor value, bool trainable = true);

  /// False only for a default-constructed Parameter().
  bool defined() const noexcept { return data_ != nullptr; }
  /// The value, for use in operations. If a tape is recording on this thread and the parameter is trainable, the result
  /// is a leaf of that tape.
  operator Tensor() const;  // NOLINT: implicit on purpose
  /// The value, which is never a leaf of a tape.
  const Tensor& value() const;
  /// The shape of the tensor that the parameter stands for. This is the shape of value(), except for weights in 4 bits,
  /// whose value() holds two elements in a byte.
  const Shape& shape() const;
  /// Copies the elements of `value` into the parameter. Error unless both have the same shape and dtype and the
  /// parameter is writable().
  void assign(const Tensor& value);

  /// Whether tapes treat the parameter as a leaf, so that it receives gradients. If this is false, the parameter is
  /// frozen.
  bool trainable() const;
  /// Whether the value may be written and trained. This is false for the parameters of a quantized model. It is also
  /// false for the parameters of a model that was loaded for inference (weft/checkpoint.h), because their values may
  /// lie in a mapped file. Parameters that are not writable are frozen.
  bool writable() const;
  /// Whether quantize() (weft/quantize.h) may round the value, which must be a matrix (out, in). The layers Linear and
  /// Embedding mark their weights as quantizable.
  bool quantizable() const;
  /// Marks the parameter as quantizable or removes the mark, for all handles. Without the mark, quantize() leaves the
  /// value unchanged. Error if the parameter is quantized().
  void set_quantizable(bool quantizable);
  /// Whether the parameter belongs to a quantized model, even if only other parameters of the model were rounded. A
  /// rounded parameter has a bf16 value, or an i8 value with scales() in 8 or in 4 bits. Code that reads it must handle
  /// all of them.
  bool quantized() const;
  /// The scales of an i8 value. The tensor is undefined if the value has another dtype.
  /// - 8 bits: the value has the shape (out, in), and the scales are f32 of shape (out). Row i of the weight is
  ///   value[i] · scales[i].
  /// - 4 bits: the value is QuantizedWeight::packed_values() (weft/quantized.h), and the scales are bf16 of shape
  ///   (out, ceil(in / 32)).
  const Tensor& scales() const;
  /// Unfreezes the parameter (true) or freezes it (false), for all handles. Error if `trainable` is true and the
  /// parameter isn't writable().
  void set_trainable(bool trainable);
  /// Identifies the parameter. All its handles return the same pointer.
  const void* id() const noexcept { return data_.get(); }

 private:
  friend void detail::rebind(const Parameter& parameter, Tensor value);
  friend Parameter detail::outline(const Shape& shape, DType dtype);
  friend void detail::lend(const Parameter& parameter, Tensor value, const char* why);
  friend void detail::lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why);

  friend std::string detail::lent_message(const Parameter& parameter, const std::string& who);

  struct Data;
  std::shared_ptr<Data> data_;
};

/// Parameters with their names, in the order in which the layers collect them. The names follow PyTorch's state_dict,
/// for example "blocks.0.proj1.weight".
using NamedParameters = std::vector<std::pair<std::string, Parameter>>;

}  // namespace weft
WEFT_PUBLIC_END
