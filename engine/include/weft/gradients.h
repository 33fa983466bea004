/// \file
/// Receivers of the gradients that backward computes for leaves.
#pragma once
#include <vector>

#include "weft/parameter.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// A trainable parameter or a watched tensor on a tape.
struct Leaf {
  Tensor value;                     ///< with its node on the tape
  const void* parameter = nullptr;  ///< Parameter::id(), or null for a watched tensor
};

/// Receives gradients while Tape::backward runs, on the tape's thread. Derive your own sinks from this class.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Called first, with all leaves of the tape in order of their first use.
  virtual void begin(const std::vector<Leaf>& leaves) { (void)leaves; }
  /// Called once for each leaf that the result depends on, as soon as its gradient is complete. The gradient has the
  /// leaf's shape and dtype and shares its elements with nothing else. If the sink writes a tensor that backward still
  /// needs, backward throws.
  virtual void complete(const Leaf& leaf, Tensor gradient) = 0;
};

/// A sink that keeps all gradients of any number of tapes.
class Gradients : public GradientSink {
 public:
  void begin(const std::vector<Leaf>& leaves) override;
  void complete(const Leaf& leaf, Tensor gradient) override;
  /// The gradient of a watched tensor, or zeros if the result doesn't depend on it. Error if the tensor is not a leaf
  /// of a tape whose backward ran into this sink.
  Tensor of(const Tensor& watched) const;
  /// The sum of the parameter's gradients over all tapes, or zeros.
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
#pragma GCC visibility pop
