/// \file
/// Tape: reverse-mode differentiation of what is computed while it is in scope.
#pragma once
#include <cstdint>
#include <memory>

#include "weft/gradients.h"
#include "weft/op.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// Records, on its own thread, every operation of which an input has a node here. The innermost tape records.
/// Without one nothing is recorded. A node of another or a finished tape is a constant.
/// Made, used and destroyed on one thread.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// x as a leaf of this tape. Error for i64.
  Tensor watch(const Tensor& x);

  /// Walks the records in reverse and gives the sink d result / d leaf for each leaf, for a result of one element.
  /// Consumes the tape: a second call is an Error, as is a call from another thread, a result that is not of this tape,
  /// or a tensor kept for backward that was written since.
  void backward(const Tensor& result, GradientSink& sink);
  /// The same times `cotangent`, which has the result's shape and dtype.
  void backward(const Tensor& result, const Tensor& cotangent, GradientSink& sink);

  /// The number of records so far, leaves among them.
  std::int64_t records() const noexcept;

  /// The tape that records on this thread now, or null.
  static Tape* recording() noexcept;
  /// Whether x has a node on this tape.
  bool owns(const Tensor& x) const noexcept;

 private:
  // What records on a thread: a stack of tapes and of suspensions (tape is null). Leaves the stack when destroyed.
  struct Frame {
    explicit Frame(Tape* recorder) noexcept;
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    Tape* tape;
    Frame* below;
    static Frame*& top() noexcept;  // the calling thread's innermost
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
