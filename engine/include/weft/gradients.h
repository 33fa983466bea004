/// \file
/// Gradient sinks, which receive the gradients that Tape::backward computes for the leaves of a tape.
#pragma once
#include <vector>

#include "weft/parameter.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A leaf of a tape: a trainable parameter or a watched tensor.
struct Leaf {
  Tensor value;                     ///< the value, whose node() is the leaf's record
  const void* parameter = nullptr;  ///< Parameter::id(), or null for a watched tensor
};

/// Receives gradients while Tape::backward runs, on the tape's thread. Derive your own sinks from this class.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// backward calls this first, with all leaves of the tape in the order of their first use.
  virtual void begin(const std::vector<Leaf>& leaves) { (void)leaves; }
  /// backward calls this once for each leaf that the result depends on, as soon as the leaf's gradient is complete. The
  /// gradient has the leaf's shape and dtype, and no other tensor shares its elements. If the sink writes to a tensor
  /// that backward still needs, backward throws an Error.
  virtual void complete(const Leaf& leaf, Tensor gradient) = 0;
  /// backward calls this last, unless it throws.
  virtual void end() {}
};

/// A sink that stores all gradients. Several tapes may use the same sink.
class Gradients : public GradientSink {
 public:
  void begin(const std::vector<Leaf>& leaves) override;
  void complete(const Leaf& leaf, Tensor gradient) override;
  /// The gradient of a watched tensor, or zeros if the result doesn't depend on the tensor. Error unless the tensor is
  /// a leaf of a tape whose backward used this sink.
  Tensor of(const Tensor& watched) const;
  /// The sum of the parameter's gradients over all tapes, or zeros if there are none.
  Tensor of(const Parameter& parameter) const;

 private:
  struct Entry {
    Node leaf;
    const void* parameter;
    Tensor gradient;
  };
  std::vector<Entry> entries_;
};

}  // namespace weft
WEFT_PUBLIC_END
