// What an op's backward sees, and how contributions to a gradient add up.
#include "tape_impl.h"

namespace weft {
namespace {

// True if no two indices reach the same element, as is certain for what backward makes itself.
bool writable_in_place(const Tensor& x) {
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (x.shape()[i] > 1 && x.strides()[i] == 0) return false;
  return x.unique();
}

Tensor copy_of(const Tensor& x) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  raw::copy(x, y);
  return y;
}

}  // namespace

bool Backward::needs(std::size_t i) const { return tape_.records[static_cast<std::size_t>(index_)].inputs.at(i) >= 0; }

const Shape& Backward::input_shape(std::size_t i) const {
  return tape_.records[static_cast<std::size_t>(index_)].input_shapes.at(i);
}

Tensor Backward::input(std::size_t i) const {
  const Record& record = tape_.records[static_cast<std::size_t>(index_)];
  if (i >= record.inputs.size()) throw Error("[tape] backward asks for an input that the operation doesn't have");
  return tape_.restore(record.kept[i]).detach();
}

Tensor Backward::output() const {
  return tape_.restore(tape_.records[static_cast<std::size_t>(index_)].kept.back()).detach();
}

const Tensor& Backward::gradient() const { return tape_.records[static_cast<std::size_t>(index_)].gradient; }
Tensor Backward::take_gradient() { return std::move(tape_.records[static_cast<std::size_t>(index_)].gradient); }

void Backward::add(std::size_t i, Tensor contribution) {
  const Record& record = tape_.records[static_cast<std::size_t>(index_)];
  if (!needs(i)) return;
  if (contribution.shape() != record.input_shapes[i] || contribution.dtype() != record.input_dtypes[i])
    throw Error(std::string("[") + record.op->name() + "] backward: the gradient of input " + std::to_string(i) +
                " should be " + dtype_name(record.input_dtypes[i]) + " " + to_string(record.input_shapes[i]) +
                ", got " + dtype_name(contribution.dtype()) + " " + to_string(contribution.shape()));
  Tensor& sum = tape_.records[static_cast<std::size_t>(record.inputs[i])].gradient;
  if (!sum.defined()) {
    sum = std::move(contribution);
  } else if (writable_in_place(sum)) {
    raw::accumulate(sum, contribution);
  } else if (writable_in_place(contribution)) {
    raw::accumulate(contribution, sum);
    sum = std::move(contribution);
  } else {
    sum = copy_of(sum);
    raw::accumulate(sum, contribution);
  }
}

Tensor Backward::partial(std::size_t i) {
  const Record& record = tape_.records[static_cast<std::size_t>(index_)];
  if (!needs(i)) throw Error("[tape] partial gradient of a constant");
  Tensor& sum = tape_.records[static_cast<std::size_t>(record.inputs[i])].gradient;
  if (!sum.defined()) sum = Tensor::zeros(record.input_shapes[i], record.input_dtypes[i]);
  else if (!writable_in_place(sum)) sum = copy_of(sum);
  return sum;
}

Tensor Gradients::of(const Tensor& watched) const {
  if (watched.node().tape == 0) throw Error("[gradients] the tensor was not watched: it has no gradient");
  for (const auto& [leaf, gradient] : all_)
    if (leaf.value.node().tape == watched.node().tape && leaf.value.node().index == watched.node().index)
      return gradient;
  return Tensor::zeros(watched.shape(), watched.dtype());
}

Tensor Gradients::of(const Parameter& parameter) const {
  for (const auto& [leaf, gradient] : all_)
    if (leaf.parameter == parameter.id()) return gradient;
  return Tensor::zeros(parameter.value().shape(), parameter.value().dtype());
}

// Each gradient has its own elements: that of a sum is shared by its terms until here.
void Gradients::complete(const Leaf& leaf, Tensor gradient) {
  for (auto& [known, sum] : all_)
    if (leaf.parameter && known.parameter == leaf.parameter) {
      Tensor total = copy_of(sum);
      raw::accumulate(total, gradient);
      sum = total;
      return;
    }
  all_.emplace_back(leaf, writable_in_place(gradient) ? std::move(gradient) : copy_of(gradient));
}

}  // namespace weft
