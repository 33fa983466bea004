// Tape: reverse-mode differentiation of what is computed while it is in scope.
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/parameter.h"
#include "weft/profile.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

class Backward;
class Tape;
struct Record;
using Inputs = std::vector<Tensor>;

// A differentiable operation: its shape rule, forward and backward, and what backward needs of forward.
class Op {
 public:
  virtual ~Op() = default;
  virtual const char* name() const noexcept = 0;

  // Checks the inputs and gives the output's shape. Error for bad arguments; nothing is allocated before.
  virtual Shape shape(const Inputs& in) const = 0;
  // Nothing inside is recorded. May keep extras in the op itself, if `recording`, for backward.
  virtual Tensor forward(const Inputs& in, const Shape& shape) = 0;
  // Adds to each input's gradient that b.needs(i).
  virtual void backward(Backward& b) const = 0;

  // What backward reads: input i, given which inputs need a gradient; the output.
  virtual bool keeps_input(std::size_t i, const std::vector<bool>& needs) const { (void)i, (void)needs; return true; }
  virtual bool keeps_output() const { return false; }
  // True if forward can be run again at little cost from inputs that backward keeps anyway: whoever needs the
  // output in backward then keeps the record instead of the tensor.
  virtual bool cheap() const { return false; }
  // For an op whose output is a part of input 0, as a view: the same part of `whole`, a tensor of input 0's shape; and
  // views of all its other elements, or nothing if these are more than a few blocks.
  virtual bool gives_part() const { return false; }
  virtual Tensor part_of(const Tensor& whole) const { (void)whole; return {}; }
  virtual std::optional<std::vector<Tensor>> beside_part(const Tensor& whole) const { (void)whole; return {}; }

  bool recording = false;
};

// A trainable parameter or a watched tensor on a tape.
struct Leaf {
  Tensor value;
  const void* parameter = nullptr;  // Parameter::id(), or null for a watched tensor
};

// Where backward delivers the leaves' gradients.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // Called first, with all leaves of the tape in the order in which they were first used.
  virtual void begin(const std::vector<Leaf>& leaves) { (void)leaves; }
  // Called once for each leaf that the result depends on, as soon as its gradient is complete. The gradient's elements
  // are its own. Writing a tensor that backward still needs makes backward throw.
  virtual void complete(const Leaf& leaf, Tensor gradient) = 0;
};

// A sink that keeps every gradient.
class Gradients : public GradientSink {
 public:
  void begin(const std::vector<Leaf>& leaves) override;
  void complete(const Leaf& leaf, Tensor gradient) override;
  // The gradient of a watched tensor or parameter, or zeros if the result doesn't depend on it. Error for a tensor
  // that is no leaf of a tape whose backward ran into this sink.
  Tensor of(const Tensor& watched) const;
  Tensor of(const Parameter& parameter) const;

 private:
  struct Entry {
    Node leaf;
    const void* parameter;
    Tensor gradient;
  };
  std::vector<Entry> entries_;
};

// What records on a thread: a stack of tapes and of suspensions (tape is null). Leaves the stack when destroyed.
struct TapeFrame {
  explicit TapeFrame(Tape* recorder) noexcept;
  ~TapeFrame();
  TapeFrame(const TapeFrame&) = delete;
  TapeFrame& operator=(const TapeFrame&) = delete;
  Tape* tape;
  TapeFrame* below;
};

// Records, on its own thread, every operation of which an input has a node here. The innermost tape records.
// Without one nothing is recorded. A node of another or a finished tape is a constant.
class Tape {
 public:
  Tape();
  ~Tape();  // on the tape's own thread
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // x as a leaf of this tape. Error for i64.
  Tensor watch(const Tensor& x);

  // Walks the records in reverse and gives the sink d result / d leaf for each leaf, times `cotangent`, which has
  // the result's shape (left out: the result has one element, the cotangent is 1). Consumes the tape: a second
  // call is an Error, as is a call from another thread, a result that is not of this tape, or a tensor kept for
  // backward that was written since.
  void backward(const Tensor& result, GradientSink& sink);
  void backward(const Tensor& result, const Tensor& cotangent, GradientSink& sink);

  std::int64_t records() const noexcept;

  // For Op and Parameter: the tape that records on this thread now, or null.
  static Tape* recording() noexcept;
  bool owns(const Tensor& x) const noexcept;
  Tensor leaf(const Tensor& value, const std::shared_ptr<const void>& parameter);
  Tensor record(std::unique_ptr<Op> op, const Inputs& in, Tensor out);

 private:
  friend class Backward;
  struct [[gnu::visibility("hidden")]] Impl;
  std::unique_ptr<Impl> impl_;
  TapeFrame frame_;
};

// Suspends recording on this thread while in scope.
class NoGrad {
 public:
  NoGrad() noexcept : frame_(nullptr) {}

 private:
  TapeFrame frame_;
};

// What an op's backward sees of its record.
class Backward {
 public:
  Backward(Tape::Impl& tape, std::int64_t index) : tape_(tape), index_(index) {}

  bool needs(std::size_t i) const;
  const Shape& input_shape(std::size_t i) const;
  // Only what keeps_input / keeps_output asked for.
  Tensor input(std::size_t i) const;
  Tensor output() const;

  const Tensor& gradient() const;  // of the output, in its shape
  // The gradient, given up by the record: if it is unique() it may be written in place.
  Tensor take_gradient();

  // Adds a contribution of input i's shape and dtype. The first is moved in.
  void add(std::size_t i, Tensor contribution);
  // If input i is a part of another tensor (a slice) of whose gradient nothing has been written yet, or all but exactly
  // this part: the part, to be written and given to add(i, …) before anything else is added to input i or the other.
  // Else undefined.
  Tensor place(std::size_t i);
  // For an op that gives a part: adds the gradient to that part of input 0's.
  void add_part();

 private:
  const Record& record_with(std::size_t i) const;

  Tape::Impl& tape_;
  std::int64_t index_;
};

// True if the current tape would record an op with these inputs.
bool would_record(const Inputs& in) noexcept;

// Runs f, an operation's forward pass: timed, and out of memory is an Error.
template <class F>
Tensor run_op(const char* name, F f) {
  try {
    const OpTimer timer(name, &OpTime::forward);
    return f();
  } catch (const std::bad_alloc&) {
    throw Error(std::string("[") + name + "] out of memory");
  }
}

// Runs the op, and records it if an input has a node on the current tape.
template <class O>
Tensor apply(O op, const Inputs& in) {
  return run_op(op.name(), [&] {
    op.recording = would_record(in);
    const Shape shape = op.shape(in);
    Tensor out;
    {
      NoGrad suspended;
      out = op.forward(in, shape);
    }
    if (!op.recording) return out;
    return Tape::recording()->record(std::make_unique<O>(std::move(op)), in, std::move(out));
  });
}

}  // namespace weft
#pragma GCC visibility pop
