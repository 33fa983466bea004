/// \file
/// Op: the base class of differentiable operations. Derive custom operations from it and run them with apply_op().
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/function_ref.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

class Op;

/// The operands of an operation. An undefined Tensor stands for an omitted operand.
using Inputs = std::vector<Tensor>;

namespace detail {
class WEFT_HIDDEN PartOp;
class WEFT_HIDDEN RecomputeOp;
class WEFT_HIDDEN TapeRecords;
// Calls f, the forward pass of an operation. Measures the time of f. Turns a std::bad_alloc that f throws into
// OutOfMemory.
Tensor run_op(const char* name, FunctionRef<Tensor()> f);
// Checks the inputs and computes the output. Sets op.recording if the op is to be recorded.
Tensor compute(Op& op, const Inputs& in);
// Records the op on the current tape. Returns `out` with the node of the new record.
Tensor record(std::unique_ptr<Op> op, const Inputs& in, Tensor out);
}  // namespace detail

/// The interface through which the backward pass of an op reads its record on the tape and adds gradients.
class Backward {
 public:
  /// Only tapes use this.
  Backward(detail::TapeRecords& tape, std::int64_t index) : tape_(tape), index_(index) {}

  /// Whether input i needs a gradient. Op::backward should compute only the gradients that are needed.
  bool needs(std::size_t i) const;
  /// The shape of input i.
  const Shape& input_shape(std::size_t i) const;
  /// The dtype of input i and of its gradient.
  DType input_dtype(std::size_t i) const;
  /// Input i. Error unless keeps_input returned true for it.
  Tensor input(std::size_t i) const;
  /// The output. Error unless keeps_output returned true.
  Tensor output() const;

  /// The gradient with respect to the output. It has the output's shape.
  const Tensor& gradient() const;
  /// Moves the gradient with respect to the output out of the record. If the returned tensor is unique(), the op may
  /// overwrite it.
  Tensor take_gradient();

  /// Adds a contribution to the gradient of input i, if that gradient is needed. The contribution has the shape and
  /// dtype of input i. The first contribution is moved, not copied.
  void add(std::size_t i, Tensor contribution);
  /// Adds a contribution that f computes. f itself must not call add() or write(). f usually receives an undefined
  /// tensor and assigns the contribution to it. If input i is a slice of another tensor, f may instead receive a view
  /// of the corresponding slice of that tensor's gradient. If f writes the contribution into this view, no copy is
  /// needed. f may instead assign another tensor.
  void write(std::size_t i, FunctionRef<void(Tensor& contribution)> f);

 private:
  friend class detail::PartOp;
  friend class detail::RecomputeOp;
  void add_to_whole();

  detail::TapeRecords& tape_;
  std::int64_t index_;
};

/// A differentiable operation. A derived class defines the shape of the output, the forward and the backward pass, and
/// which tensors the backward pass needs.
class Op {
 public:
  virtual ~Op() = default;
  /// The operation's name in messages and profiles.
  virtual const char* name() const noexcept = 0;

  /// Checks the inputs and returns the output's shape, without other effects. It must also check the number of inputs,
  /// because no other code does. Inputs may have any strides. Error for invalid arguments.
  virtual Shape shape(const Inputs& in) const = 0;
  /// Returns the output, which has the given shape. Operations that forward calls are not recorded. If `recording` is
  /// true, forward may store additional data for backward in the op itself. A second run with the same inputs must give
  /// the same bits.
  virtual Tensor forward(const Inputs& in, const Shape& shape) = 0;
  /// Adds a contribution to the gradient of each input i for which b.needs(i) is true. Operations that backward calls
  /// are not recorded.
  virtual void backward(Backward& b) const = 0;

  /// Whether backward reads input i. needs[j] tells whether input j needs a gradient. For example, a product of two
  /// factors returns needs[1 - i].
  virtual bool keeps_input(std::size_t i, const std::vector<bool>& needs) const = 0;
  /// Whether backward reads the output.
  virtual bool keeps_output() const { return false; }
  /// Whether forward is cheap to run again. If so, the tape may save the inputs of this op instead of its output. When
  /// the backward pass of another op needs the output, forward then runs again.
  virtual bool cheap() const { return false; }

  /// Whether a tape will record the op. apply_op() sets it before it calls shape and forward.
  bool recording = false;
};

/// Whether the current tape would record an op with these inputs. Error if the call is inside a function that
/// recompute() runs (weft/recompute.h) and an input is on the tape outside of that function.
bool would_record(const Inputs& in);

/// Runs the op and returns its output. Records the op if an input is on the current tape. Error if the op's shape()
/// rejects the inputs or memory runs out.
template <class O>
Tensor apply_op(O op, const Inputs& in) {
  return detail::run_op(op.name(), [&] {
    Tensor out = detail::compute(op, in);
    return op.recording ? detail::record(std::make_unique<O>(std::move(op)), in, std::move(out)) : out;
  });
}

/// Like the function above, with the operands as separate arguments: apply_op(AddOp(), a, b).
template <class O, class... More>
Tensor apply_op(O op, const Tensor& first, const More&... more) {
  return detail::run_op(op.name(), [&] {
    Inputs in;
    in.reserve(1 + sizeof...(more));
    in.push_back(first);
    (in.push_back(more), ...);
    return apply_op(std::move(op), in);
  });
}

}  // namespace weft
WEFT_PUBLIC_END
