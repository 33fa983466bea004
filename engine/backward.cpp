// What an op's backward sees, and how contributions to a gradient add up.
#include <algorithm>

#include "tape_impl.h"

namespace weft {
namespace {

// True if no two indices reach the same element, as is certain for what backward makes itself.
bool writable_in_place(const Tensor& x) {
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (x.shape()[i] > 1 && x.strides()[i] == 0) return false;
  return x.unique();
}

constexpr const char* written_too_early = "[tape] backward adds to a tensor before it has written a part of it";

bool same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

Tensor copy_of(const Tensor& x) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  raw::copy(x, y);
  return y;
}

}  // namespace

Tensor owned(Tensor x) { return writable_in_place(x) ? std::move(x) : copy_of(x); }

// The record, if it has an input i.
const Record& Backward::record_with(std::size_t i) const {
  const Record& record = tape_.records[static_cast<std::size_t>(index_)];
  if (i >= record.inputs.size()) throw Error("[tape] backward asks for an input that the operation doesn't have");
  return record;
}

bool Backward::needs(std::size_t i) const { return record_with(i).inputs[i] >= 0; }
const Shape& Backward::input_shape(std::size_t i) const { return record_with(i).input_shapes[i]; }
Tensor Backward::input(std::size_t i) const { return tape_.restore(record_with(i).kept[i]).detach(); }

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
  Record& input = tape_.records[static_cast<std::size_t>(record.inputs[i])];
  if (input.place.defined()) {
    if (input.place_input != i) throw Error(written_too_early);
    if (!same_view(input.place, contribution)) raw::copy(contribution, input.place);
    input.place = Tensor();
    --tape_.whole_of(input)->places_given;
    return;
  }
  Tape::Impl::settle(input);
  Tensor& sum = input.gradient;
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

Tensor Backward::place(std::size_t i) {
  if (!needs(i)) return {};
  Record& input = tape_.records[static_cast<std::size_t>(record_with(i).inputs[i])];
  Record* whole = input.gradient.defined() || input.place.defined() ? nullptr : tape_.whole_of(input);
  if (whole == nullptr) return {};
  input.place = tape_.take_place(input, *whole);
  input.place_input = i;
  if (input.place.defined()) ++whole->places_given;
  return input.place;
}

void Backward::add_part() {
  Record& record = tape_.records[static_cast<std::size_t>(index_)];
  Record* whole = tape_.whole_of(record);
  if (whole == nullptr) throw Error("[tape] add_part in backward of an operation that gives no part");
  Tensor part = tape_.take_place(record, *whole);
  if (part.defined()) return raw::copy(record.gradient, part);
  Tape::Impl::settle(*whole);
  if (!writable_in_place(whole->gradient)) whole->gradient = copy_of(whole->gradient);
  part = record.op->part_of(whole->gradient);
  raw::accumulate(part, record.gradient);
}

Record* Tape::Impl::whole_of(const Record& part) {
  if (!part.op || !part.op->gives_part() || part.inputs[0] < 0) return nullptr;
  return &records[static_cast<std::size_t>(part.inputs[0])];
}

Tensor Tape::Impl::take_place(const Record& part, Record& whole) {
  if (!whole.gradient.defined()) {
    whole.gradient = Tensor::empty(whole.shape, whole.dtype);
    const Tensor place = part.op->part_of(whole.gradient);
    if (auto beside = part.op->beside_part(whole.gradient)) return whole.unwritten = std::move(*beside), place;
    raw::fill(whole.gradient, 0);
  }
  if (whole.unwritten.empty()) return {};
  const Tensor place = part.op->part_of(whole.gradient);
  const auto found = std::find_if(whole.unwritten.begin(), whole.unwritten.end(),
                                  [&](const Tensor& view) { return same_view(view, place); });
  if (found == whole.unwritten.end()) return {};
  whole.unwritten.erase(found);
  return place;
}

void Tape::Impl::settle(Record& record) {
  if (record.places_given != 0) throw Error(written_too_early);
  for (Tensor& part : record.unwritten) raw::fill(part, 0);
  record.unwritten.clear();
}

void Gradients::begin(const std::vector<Leaf>& leaves) {
  for (const Leaf& leaf : leaves) entries_.push_back({leaf.value.node(), leaf.parameter, Tensor()});
}

Tensor Gradients::of(const Tensor& watched) const {
  for (const Entry& entry : entries_)
    if (entry.leaf.tape == watched.node().tape && entry.leaf.index == watched.node().index)
      return entry.gradient.defined() ? entry.gradient : Tensor::zeros(watched.shape(), watched.dtype());
  throw Error("[gradients] the tensor was not watched: it has no gradient here");
}

// The sum over all tapes on which the parameter was used.
Tensor Gradients::of(const Parameter& parameter) const {
  (void)parameter.value();  // Error if it is undefined
  Tensor sum;
  for (const Entry& entry : entries_) {
    if (entry.parameter != parameter.id() || !entry.gradient.defined()) continue;
    if (sum.defined()) {
      sum = copy_of(sum);
      raw::accumulate(sum, entry.gradient);
    } else {
      sum = entry.gradient;
    }
  }
  return sum.defined() ? sum : Tensor::zeros(parameter.value().shape(), parameter.value().dtype());
}

void Gradients::complete(const Leaf& leaf, Tensor gradient) {
  for (Entry& entry : entries_)
    if (entry.leaf.tape == leaf.value.node().tape && entry.leaf.index == leaf.value.node().index)
      entry.gradient = std::move(gradient);
}

}  // namespace weft
