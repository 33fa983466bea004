/// \file
/// Parameter: a named, trainable tensor of a model. ParameterSet: all of them in flat buffers.
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

/// A handle: copies share value and state.
class Parameter {
 public:
  Parameter() = default;  ///< undefined
  /// Error unless bf16, f32 or f64. The optimizers train f32 and f64.
  explicit Parameter(Tensor value, bool trainable = true);

  /// False for a Parameter() alone.
  bool defined() const noexcept { return data_ != nullptr; }
  /// The value as operations take it: a leaf of the current tape if it records and the parameter is trainable.
  operator Tensor() const;  // NOLINT: implicit on purpose
  /// The value, never a leaf.
  const Tensor& value() const;
  /// Replaces the value's elements. Error unless shape and dtype agree and it is writable().
  void assign(const Tensor& value);

  /// Whether tapes take it as a leaf.
  bool trainable() const;
  /// Whether its value may be written and trained. False in a model that was loaded for inference (weft/checkpoint.h),
  /// whose values may lie in a file, and in one that is quantised; such a parameter is frozen.
  bool writable() const;
  /// Whether quantize() (weft/quantize.h) may round its value, a matrix (out, in): so Linear and Embedding mark theirs.
  bool quantizable() const;
  /// Marks it, for all its handles, or takes the mark away: its value then stays as it is. Error once it is quantized().
  void set_quantizable(bool quantizable);
  /// Whether it is of a model that is quantised, if only its other parameters are rounded. One that is rounded has a bf16
  /// value, or an i8 one with scales(): what reads it must know.
  bool quantized() const;
  /// Of an i8 value (out, in): f32 (out), row i of the weight is value[i] · scales[i]. Undefined for all others.
  const Tensor& scales() const;
  /// Freezes or thaws it, for all its handles. Error if one that isn't writable() is to be thawed.
  void set_trainable(bool trainable);
  /// The same for all handles of one parameter.
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

/// In the order in which the layers collect them. Names are as in PyTorch's state_dict: "blocks.0.proj1.weight".
using NamedParameters = std::vector<std::pair<std::string, Parameter>>;

}  // namespace weft
#pragma GCC visibility pop
