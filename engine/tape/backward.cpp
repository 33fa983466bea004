// The interface through which the backward pass of an op uses the tape.
#include "tape/tape_records.h"
#include "weft/detail/tensor_text.h"

namespace weft {
using namespace detail;

namespace {

// Returns the record. Throws an Error if the record has no input i.
const Record& with_input(const Record& record, std::size_t i) {
  if (i >= record.inputs.size()) throw Error("[tape] backward asks for an input that the operation doesn't have");
  return record;
}

void check_contribution(const Record& record, std::size_t i, const Tensor& contribution) {
  if (contribution.shape() == record.input_shapes[i] && contribution.dtype() == record.input_dtypes[i]) return;
  throw Error(std::string("[") + record.op->name() + "] backward: expected the gradient of input " + std::to_string(i) +
              " to be " + tensor_text(record.input_dtypes[i], record.input_shapes[i]) + ", got " +
              tensor_text(contribution));
}

}  // namespace

bool Backward::needs(std::size_t i) const { return with_input(tape_.at(index_), i).inputs[i] >= 0; }
const Shape& Backward::input_shape(std::size_t i) const { return with_input(tape_.at(index_), i).input_shapes[i]; }
DType Backward::input_dtype(std::size_t i) const { return with_input(tape_.at(index_), i).input_dtypes[i]; }
Tensor Backward::input(std::size_t i) const { return tape_.restore(with_input(tape_.at(index_), i).kept[i]).detach(); }
Tensor Backward::output() const { return tape_.restore(tape_.at(index_).kept.back()).detach(); }

const Tensor& Backward::gradient() const { return tape_.at(index_).gradient.sum(); }
Tensor Backward::take_gradient() { return tape_.at(index_).gradient.take(); }

void Backward::add(std::size_t i, Tensor contribution) {
  if (!needs(i)) return;
  const Record& record = tape_.at(index_);
  check_contribution(record, i, contribution);
  tape_.at(record.inputs[i]).gradient.add(std::move(contribution));
}

void Backward::write(std::size_t i, FunctionRef<void(Tensor&)> f) {
  const Record& record = tape_.at(index_);
  Tensor contribution, place;
  if (needs(i)) {
    Record& input = tape_.at(record.inputs[i]);
    Record* whole = input.gradient.defined() ? nullptr : tape_.whole_of(input);
    if (whole) place = contribution = whole->gradient.claim_part(*input.part, whole->shape, whole->dtype);
  }
  f(contribution);
  if (!place.defined()) return add(i, std::move(contribution));
  check_contribution(record, i, contribution);
  if (contribution.storage() != place.storage()) raw::copy(contribution, place);
}

void detail::PartOp::backward(Backward& b) const { b.add_to_whole(); }

void Backward::add_to_whole() {
  Record& record = tape_.at(index_);
  Record& whole = *tape_.whole_of(record);
  whole.gradient.add_part(*record.part, whole.shape, record.gradient.sum());
}

}  // namespace weft
