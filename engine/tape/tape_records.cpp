#include "tape/tape_records.h"

#include <algorithm>

#include "tensor/storage.h"
#include "weft/detail/op_timer.h"

namespace weft::detail {
namespace {

// The maximum length of a chain of cheap records without a saved tensor between them. Larger: fewer tensors are saved,
// but more are computed twice. Smaller: more memory. bench: bench/steps/step_compare (time and memory of a step)
constexpr int max_recomputed_depth = 4;

}  // namespace

Kept TapeRecords::keep(const Tensor& x) {
  Kept kept;
  kept.absent = !x.defined();
  if (kept.absent) return kept;
  kept.version = x.version();
  const Storage& storage = *x.storage();
  const bool from_cheap_record =
      x.node().tape == serial && storage.producer.tape == serial && storage.produced_version == kept.version;
  if (!from_cheap_record) {
    kept.tensor = x;
    return kept;
  }
  kept.producer = storage.producer.index;
  kept.shape = x.shape();
  kept.strides = x.strides();
  kept.offset = x.offset();
  ++at(kept.producer).uses;
  return kept;
}

Tensor TapeRecords::add(std::unique_ptr<Op> op, const Inputs& in, Tensor out) {
  Record record;
  std::vector<bool> needs;
  for (const Tensor& x : in) {
    needs.push_back(owns(x));
    record.inputs.push_back(needs.back() ? x.node().index : -1);
    record.input_shapes.push_back(x.shape());
    record.input_dtypes.push_back(x.dtype());
  }
  const bool cheap = op->cheap();
  bool new_storage = true;
  for (std::size_t i = 0; i < in.size(); ++i) {
    record.kept.push_back(cheap || op->keeps_input(i, needs) ? keep(in[i]) : Kept{});
    if (in[i].storage() == out.storage()) new_storage = false;
    const std::int64_t producer = record.kept.back().producer;
    if (producer >= 0) record.recomputed_depth = std::max(record.recomputed_depth, at(producer).recomputed_depth);
  }
  ++record.recomputed_depth;
  const auto index = static_cast<std::int64_t>(records.size());
  out.set_node({serial, index});
  Kept kept_output;
  if (op->keeps_output()) {
    kept_output.tensor = out;
    kept_output.version = out.version();
  }
  record.kept.push_back(std::move(kept_output));
  record.shape = out.shape();
  record.dtype = out.dtype();
  if (cheap && new_storage && !op->keeps_output() && record.recomputed_depth <= max_recomputed_depth) {
    out.storage()->producer = out.node();
    out.storage()->produced_version = out.version();
  }
  record.part = dynamic_cast<const PartOp*>(op.get());
  record.op = std::move(op);
  records.push_back(std::move(record));
  return out;
}

void TapeRecords::clear() noexcept {
  records.clear();
  leaves.clear();
}

bool TapeRecords::takes(const Tensor& x) const {
  for (const TapeRecords* tape = outside; tape != nullptr; tape = tape->outside)
    if (tape->owns(x))
      throw Error("[recompute] the function reads a tensor of shape " + to_string(x.shape()) +
                  " that is on the tape but not among the function's inputs: this tensor would get no gradient");
  return owns(x);
}

void TapeRecords::walk(std::int64_t last, FunctionRef<void(std::int64_t leaf)> complete) {
  for (std::int64_t i = static_cast<std::int64_t>(records.size()) - 1; i > last; --i) release(at(i));
  for (std::int64_t i = last; i >= 0; --i) {
    Record& record = at(i);
    if (!record.op) {
      complete(i);
    } else if (record.gradient.defined()) {
      if (record.gradient.has_blank_parts()) {
        const OpTimer timer("gradients", &OpTime::backward);
        record.gradient.fill_blank_parts();
      }
      check_versions(record);  // a sink may have written the tensors
      Backward view(*this, i);
      const OpTimer timer(record.op->name(), &OpTime::backward);
      record.op->backward(view);
    }
    release(record);
  }
}

void TapeRecords::check_versions(const Record& record) const {
  for (const Kept& kept : record.kept)
    if (kept.tensor.defined() && kept.tensor.version() != kept.version)
      throw Error(std::string("[") + record.op->name() + "] backward needs a tensor of shape " +
                  to_string(kept.tensor.shape()) + ", but this tensor was written after the forward pass");
}

Tensor TapeRecords::restore(const Kept& kept) {
  if (kept.absent) return Tensor();
  if (kept.producer < 0) {
    if (!kept.tensor.defined()) throw Error("[tape] backward asks for a tensor that the operation doesn't keep");
    return kept.tensor;
  }
  return recompute(kept.producer).view(kept.shape, kept.strides, kept.offset);
}

const Tensor& TapeRecords::recompute(std::int64_t index) {
  Record& record = at(index);
  if (record.recomputed.defined()) return record.recomputed;
  check_versions(record);
  Inputs in;
  for (std::size_t i = 0; i < record.inputs.size(); ++i) in.push_back(restore(record.kept[i]).detach());
  const OpTimer timer(record.op->name(), &OpTime::recomputed);
  record.recomputed = record.op->forward(in, record.shape);
  return record.recomputed;
}

// Releases the record's data, and those recomputed outputs of other records that are no longer needed.
void TapeRecords::release(Record& record) {
  for (const Kept& kept : record.kept) {
    if (kept.producer < 0) continue;
    Record& producer = at(kept.producer);
    if (--producer.uses == 0) producer.recomputed = Tensor();
  }
  record.op.reset();
  record.kept.clear();
  record.gradient.clear();
  record.recomputed = Tensor();
  record.leaf.value = Tensor();
  record.parameter.reset();
}

}  // namespace weft::detail
