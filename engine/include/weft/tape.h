/// \file
/// Tape: reverse-mode differentiation of the operations that run while it is in scope.
#pragma once
#include <cstdint>
#include <memory>

#include "weft/gradients.h"
#include "weft/op.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Records the operations that run on its thread and have an input on this tape: a watched tensor, a trainable
/// parameter, or a result of a recorded operation. If tapes are nested, only the innermost one records. Without a tape,
/// nothing is recorded. Tensors on any other tape count as constants, whether or not that tape still exists. Create,
/// use and destroy a tape on one thread.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Returns x as a leaf of this tape, so that backward computes its gradient. Error for an undefined tensor and for
  /// integer tensors (i64, i8).
  Tensor watch(const Tensor& x);

  /// Computes the gradient d result / d leaf for each leaf that the result depends on, and passes it to the sink. The
  /// result must have one element. backward consumes the tape, so it can be called only once. Error for a second call,
  /// for a call from another thread, for a result that is not on this tape, and if a saved tensor was written to after
  /// the forward pass.
  void backward(const Tensor& result, GradientSink& sink);
  /// Like the function above, but for a result of any shape: computes the gradients of the sum of cotangent · result
  /// over all elements. `cotangent` is a constant with the result's shape and dtype.
  void backward(const Tensor& result, const Tensor& cotangent, GradientSink& sink);

  /// The number of records so far, including leaves.
  std::int64_t records() const noexcept;

  /// The tape that is recording on this thread, or null.
  static Tape* recording() noexcept;
  /// Whether x is on this tape.
  bool owns(const Tensor& x) const noexcept;

 private:
  // An entry of the thread's stack of recorders: a tape, or a suspension of recording (tape is null). It leaves the
  // stack when it is destroyed.
  struct Frame {
    explicit Frame(Tape* recorder) noexcept;
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    Tape* tape;
    Frame* below;
    static Frame*& top() noexcept;  // the calling thread's innermost frame
  };
  friend class NoGrad;
  friend class Parameter;
  friend class detail::RecomputeOp;
  friend bool would_record(const Inputs& in);
  friend Tensor detail::record(std::unique_ptr<Op> op, const Inputs& in, Tensor out);

  Tensor leaf(const Tensor& value, const std::shared_ptr<const void>& parameter);

  std::unique_ptr<detail::TapeRecords> impl_;
  Frame frame_;
};

/// Suspends recording on this thread while it is in scope.
class NoGrad {
 public:
  NoGrad() noexcept : frame_(nullptr) {}

 private:
  Tape::Frame frame_;
};

}  // namespace weft
WEFT_PUBLIC_END
