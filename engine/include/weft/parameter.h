/// \file
/// Parameter: a named, trainable tensor of a model.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

class Parameter;
namespace detail {
[[gnu::visibility("hidden")]] void rebind(const Parameter& parameter, Tensor value);
[[gnu::visibility("hidden")]] Parameter outline(const Shape& shape, DType dtype);
[[gnu::visibility("hidden")]] void lend(const Parameter& parameter, Tensor value, const char* why);
[[gnu::visibility("hidden")]] void lend_quantized(const Parameter& parameter, Tensor value, Tensor scales,
                                                  const char* why);
[[gnu::visibility("hidden")]] std::string lent_message(const Parameter& parameter, const std::string& who);
}  // namespace detail

/// A handle of a trainable tensor: copies share value and state.
class Parameter {
 public:
  Parameter() = default;  ///< undefined
  /// Error unless the value is bf16, f32 or f64. The optimizers train f32 and f64.
  explicit Parameter(Tensor value, bool trainable = true);

  /// False only for a default-constructed Parameter().
  bool defined() const noexcept { return data_ != nullptr; }
  /// The value for use in operations. It is a leaf of the current tape if the tape records and the parameter is
  /// trainable.
  operator Tensor() const;  // NOLINT: implicit on purpose
  /// The value, never a leaf.
  const Tensor& value() const;
  /// Replaces the value's elements. Error unless shape and dtype agree and it is writable().
  void assign(const Tensor& value);

  /// Whether tapes treat it as a leaf.
  bool trainable() const;
  /// Whether its value may be written and trained. It is false for a model that was loaded for inference
  /// (weft/checkpoint.h), whose values may lie in a file, and for a quantized model. Such a parameter is frozen.
  bool writable() const;
  /// Whether quantize() (weft/quantize.h) may round its value, a matrix (out, in). Linear and Embedding mark theirs.
  bool quantizable() const;
  /// Sets or removes the mark for all handles. Without it quantize() leaves the value unchanged. Error once it is
  /// quantized().
  void set_quantizable(bool quantizable);
  /// Whether it belongs to a quantized model, even if only other parameters were rounded. A rounded parameter has a
  /// bf16 value, or an i8 value with scales(). Code that reads it must handle both.
  bool quantized() const;
  /// The scales of an i8 value (out, in): f32 of shape (out). Row i of the weight is value[i] · scales[i]. Undefined
  /// for other dtypes.
  const Tensor& scales() const;
  /// Freezes or unfreezes it for all handles. Error if it would be unfrozen but isn't writable().
  void set_trainable(bool trainable);
  /// The identity of the parameter, the same for all its handles.
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

/// Parameters in the order in which the layers collect them. The names match PyTorch's state_dict:
/// "blocks.0.proj1.weight".
using NamedParameters = std::vector<std::pair<std::string, Parameter>>;

}  // namespace weft
#pragma GCC visibility pop
