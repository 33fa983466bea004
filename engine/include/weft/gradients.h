/// \file
/// Where backward delivers the leaves' gradients.
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

/// Receives gradients while Tape::backward runs, on the tape's thread. To be derived from.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Called first, with all leaves of the tape in the order in which they were first used.
  virtual void begin(const std::vector<Leaf>& leaves) { (void)leaves; }
  /// Called once for each leaf that the result depends on, as soon as its gradient, of the leaf's shape and dtype, is
  /// complete. The gradient's elements are its own. Writing a tensor that backward still needs makes backward throw.
  virtual void complete(const Leaf& leaf, Tensor gradient) = 0;
};

/// A sink that keeps every gradient, of any number of tapes.
class Gradients : public GradientSink {
 public:
  void begin(const std::vector<Leaf>& leaves) override;
  void complete(const Leaf& leaf, Tensor gradient) override;
  /// The gradient of a watched tensor, or zeros if the result doesn't depend on it. Error for a tensor that is no leaf
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
