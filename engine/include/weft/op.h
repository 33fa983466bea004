/// \file
/// Op: a differentiable operation, for tapes to record. An operation of one's own derives from it and is run by
/// apply_op().
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

/// An operation's operands. An undefined Tensor stands for one that is left out.
using Inputs = std::vector<Tensor>;

namespace detail {
class [[gnu::visibility("hidden")]] PartOp;
class [[gnu::visibility("hidden")]] RecomputeOp;
class [[gnu::visibility("hidden")]] TapeRecords;
// Calls f, an operation's forward pass: timed, and out of memory is an Error.
Tensor run_op(const char* name, FunctionRef<Tensor()> f);
// Checks and computes, and says in op.recording whether to record.
Tensor compute(Op& op, const Inputs& in);
// Records the op on the current tape; gives `out` with its node.
Tensor record(std::unique_ptr<Op> op, const Inputs& in, Tensor out);
}  // namespace detail

/// What an op's backward sees of its record.
class Backward {
 public:
  /// For tapes.
  Backward(detail::TapeRecords& tape, std::int64_t index) : tape_(tape), index_(index) {}

  /// Whether input i's gradient is wanted: nothing else should be computed.
  bool needs(std::size_t i) const;
  /// The shape of input i.
  const Shape& input_shape(std::size_t i) const;
  /// The dtype of input i, which is its gradient's.
  DType input_dtype(std::size_t i) const;
  /// Input i. Error unless keeps_input asked for it.
  Tensor input(std::size_t i) const;
  /// The output. Error unless keeps_output asked for it.
  Tensor output() const;

  /// The gradient of the output, in its shape.
  const Tensor& gradient() const;
  /// The same, given up by the record: if it is unique() it may be written in place.
  Tensor take_gradient();

  /// Adds a contribution of input i's shape and dtype to its gradient, if that is wanted. The first is moved in.
  void add(std::size_t i, Tensor contribution);
  /// Adds a contribution that f computes, which adds nothing itself. f is given an undefined tensor, to be set; or,
  /// where input i is a part of another tensor (a slice) that nothing was added to yet, the part's place in that
  /// tensor's gradient, which saves a copy if f writes it and is otherwise set by f to a tensor of its own.
  void write(std::size_t i, FunctionRef<void(Tensor& contribution)> f);

 private:
  friend class detail::PartOp;
  friend class detail::RecomputeOp;
  void add_to_whole();

  detail::TapeRecords& tape_;
  std::int64_t index_;
};

/// A differentiable operation: its shape rule, forward and backward, and what backward needs of forward.
class Op {
 public:
  virtual ~Op() = default;
  /// For messages and profiles.
  virtual const char* name() const noexcept = 0;

  /// Checks the inputs (their number, too, which nobody else does) and gives the output's shape; has no other effect. Error
  /// for bad arguments. Inputs may have any strides.
  virtual Shape shape(const Inputs& in) const = 0;
  /// The output, of that shape. Nothing inside is recorded. May keep extras in the op itself, if `recording`, for
  /// backward. Run again with the same inputs it gives the same bits.
  virtual Tensor forward(const Inputs& in, const Shape& shape) = 0;
  /// Adds to each input's gradient that b.needs(i). Nothing inside is recorded.
  virtual void backward(Backward& b) const = 0;

  /// Whether backward reads input i; needs[j] says whether input j needs a gradient. A product's is needs[1 - i].
  virtual bool keeps_input(std::size_t i, const std::vector<bool>& needs) const = 0;
  /// Whether backward reads the output.
  virtual bool keeps_output() const { return false; }
  /// Whether forward can be run again at little cost: whoever needs the output in backward then keeps the record, with
  /// its inputs, instead of the tensor.
  virtual bool cheap() const { return false; }

  /// Whether the op will be recorded; set before forward is called.
  bool recording = false;
};

/// Whether the current tape would record an op with these inputs. Error for one of a tape outside of recompute()
/// (weft/recompute.h), in it.
bool would_record(const Inputs& in);

/// Runs the op, and records it if an input has a node on the current tape. Error for what `shape` refuses, and if
/// memory runs out.
template <class O>
Tensor apply_op(O op, const Inputs& in) {
  return detail::run_op(op.name(), [&] {
    Tensor out = detail::compute(op, in);
    return op.recording ? detail::record(std::make_unique<O>(std::move(op)), in, std::move(out)) : out;
  });
}

/// The same of one operand or several: apply_op(AddOp(), a, b).
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
