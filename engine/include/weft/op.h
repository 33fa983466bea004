/// \file
/// Op: a differentiable operation that tapes record. Derive your own operations from it and run them by apply_op().
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/function_ref.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

class Op;

/// The operands of an operation. An undefined Tensor stands for an omitted operand.
using Inputs = std::vector<Tensor>;

namespace detail {
class [[gnu::visibility("hidden")]] PartOp;
class [[gnu::visibility("hidden")]] RecomputeOp;
class [[gnu::visibility("hidden")]] TapeRecords;
// Calls f, the forward pass of an operation. Measures its time, and turns running out of memory into an Error.
Tensor run_op(const char* name, FunctionRef<Tensor()> f);
// Checks the inputs and computes the output. Sets op.recording if the op is to be recorded.
Tensor compute(Op& op, const Inputs& in);
// Records the op on the current tape. Returns `out` with its node.
Tensor record(std::unique_ptr<Op> op, const Inputs& in, Tensor out);
}  // namespace detail

/// A record, as the backward pass of its op sees it.
class Backward {
 public:
  /// Only tapes use this.
  Backward(detail::TapeRecords& tape, std::int64_t index) : tape_(tape), index_(index) {}

  /// Whether input i needs a gradient. Backward should compute nothing else.
  bool needs(std::size_t i) const;
  /// The shape of input i.
  const Shape& input_shape(std::size_t i) const;
  /// The dtype of input i and of its gradient.
  DType input_dtype(std::size_t i) const;
  /// Input i. Error unless keeps_input asked for it.
  Tensor input(std::size_t i) const;
  /// The output. Error unless keeps_output asked for it.
  Tensor output() const;

  /// The gradient of the output, in the output's shape.
  const Tensor& gradient() const;
  /// The same, released by the record: the op may write it in place if it is unique().
  Tensor take_gradient();

  /// Adds a contribution to the gradient of input i, if that is needed. It has input i's shape and dtype. The first
  /// contribution is moved in, not copied.
  void add(std::size_t i, Tensor contribution);
  /// Adds a contribution that f computes. f itself adds nothing. f usually receives an undefined tensor and sets it. If
  /// input i is a part of another tensor (a slice) and that tensor has no gradient yet, f receives the part's place in
  /// the gradient instead. Writing there saves a copy, but f may also set the tensor to its own.
  void write(std::size_t i, FunctionRef<void(Tensor& contribution)> f);

 private:
  friend class detail::PartOp;
  friend class detail::RecomputeOp;
  void add_to_whole();

  detail::TapeRecords& tape_;
  std::int64_t index_;
};

/// A differentiable operation: its shape rule, forward and backward, and the tensors that backward needs.
class Op {
 public:
  virtual ~Op() = default;
  /// The name in messages and profiles.
  virtual const char* name() const noexcept = 0;

  /// Checks the inputs, including their number (nothing else checks that), and returns the output's shape. Has no other
  /// effect. Inputs may have any strides. Error for invalid arguments.
  virtual Shape shape(const Inputs& in) const = 0;
  /// Returns the output, which has that shape. Nothing inside is recorded. If `recording` is set, it may keep
  /// additional data for backward in the op itself. Running it again with the same inputs gives the same bits.
  virtual Tensor forward(const Inputs& in, const Shape& shape) = 0;
  /// Adds to the gradient of each input for which b.needs(i) is true. Nothing inside is recorded.
  virtual void backward(Backward& b) const = 0;

  /// Whether backward reads input i. needs[j] says whether input j needs a gradient. For a product of two factors the
  /// result is needs[1 - i].
  virtual bool keeps_input(std::size_t i, const std::vector<bool>& needs) const = 0;
  /// Whether backward reads the output.
  virtual bool keeps_output() const { return false; }
  /// Whether running forward again costs little. If so, an op that needs this output in its backward keeps this record
  /// and its inputs instead of the output.
  virtual bool cheap() const { return false; }

  /// Whether the op will be recorded. It is set before forward is called.
  bool recording = false;
};

/// Whether the current tape would record an op with these inputs. Error inside of recompute() (weft/recompute.h) for an
/// input that is on a tape outside of it.
bool would_record(const Inputs& in);

/// Runs the op. Records it if an input has a node on the current tape. Error if `shape` refuses the inputs or memory
/// runs out.
template <class O>
Tensor apply_op(O op, const Inputs& in) {
  return detail::run_op(op.name(), [&] {
    Tensor out = detail::compute(op, in);
    return op.recording ? detail::record(std::make_unique<O>(std::move(op)), in, std::move(out)) : out;
  });
}

/// The same with the operands listed: apply_op(AddOp(), a, b).
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
#pragma GCC visibility pop
