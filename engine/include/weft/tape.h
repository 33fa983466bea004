/// \file
/// Tape: reverse-mode differentiation of the operations that run while it is in scope.
#pragma once
#include <cstdint>
#include <memory>

#include "weft/gradients.h"
#include "weft/op.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// Records every operation on its thread that has an input with a node on this tape. Only the innermost tape records;
/// without a tape nothing is recorded. Tensors with a node of another or a finished tape are constants. Create, use and
/// destroy a tape on one thread.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Returns x as a leaf of this tape. Error for an undefined tensor and for integers (i64, i8).
  Tensor watch(const Tensor& x);

  /// Walks the records in reverse and gives the sink d result / d leaf for each leaf. The result must have one element.
  /// Consumes the tape: a second call is an Error. Also an Error: a call from another thread, a result that is not on
  /// this tape, or a saved tensor that was written since.
  void backward(const Tensor& result, GradientSink& sink);
  /// The same, multiplied by `cotangent`, which has the result's shape and dtype.
  void backward(const Tensor& result, const Tensor& cotangent, GradientSink& sink);

  /// The number of records so far, including leaves.
  std::int64_t records() const noexcept;

  /// The tape that is recording on this thread, or null.
  static Tape* recording() noexcept;
  /// Whether x has a node on this tape.
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

/// Suspends recording on this thread while in scope.
class NoGrad {
 public:
  NoGrad() noexcept : frame_(nullptr) {}

 private:
  Tape::Frame frame_;
};

}  // namespace weft
#pragma GCC visibility pop
