#include "weft/tape.h"

#include <algorithm>
#include <atomic>

#include "storage.h"
#include "tape_impl.h"

namespace weft {
namespace {

// A chain of cheap records longer than this keeps a tensor in between: longer ones would keep fewer tensors, and compute
// more of them twice. bench: bench/step_compare, time and memory of a step
constexpr int max_recomputed_depth = 4;

std::atomic<std::uint64_t> next_serial{1};
thread_local TapeFrame* top_frame = nullptr;

std::string describe(DType dtype, const Shape& shape) { return std::string(dtype_name(dtype)) + " " + to_string(shape); }

}  // namespace

TapeFrame::TapeFrame(Tape* recorder) noexcept : tape(recorder), below(top_frame) { top_frame = this; }

TapeFrame::~TapeFrame() {
  for (TapeFrame** frame = &top_frame; *frame != nullptr; frame = &(*frame)->below)
    if (*frame == this) {
      *frame = below;
      return;
    }
}

Tape::Tape() : impl_(std::make_unique<Impl>()), frame_(this) {
  impl_->serial = next_serial.fetch_add(1);
  impl_->thread = std::this_thread::get_id();
}

Tape::~Tape() = default;

Tape* Tape::recording() noexcept {
  Tape* tape = top_frame ? top_frame->tape : nullptr;
  return tape && !tape->impl_->consumed ? tape : nullptr;
}

bool Tape::owns(const Tensor& x) const noexcept { return x.node().tape == impl_->serial && !impl_->consumed; }
std::int64_t Tape::records() const noexcept { return static_cast<std::int64_t>(impl_->records.size()); }

bool would_record(const Inputs& in) noexcept {
  const Tape* tape = Tape::recording();
  if (!tape) return false;
  for (const Tensor& x : in)
    if (tape->owns(x)) return true;
  return false;
}

Tensor Tape::watch(const Tensor& x) {
  if (!x.defined()) throw Error("[tape] watch: undefined tensor");
  return leaf(x.detach(), nullptr);
}

Tensor Tape::leaf(const Tensor& value, const std::shared_ptr<const void>& parameter) {
  if (value.dtype() == DType::i64) throw Error("[tape] an i64 tensor has no gradient");
  if (impl_->thread != std::this_thread::get_id()) throw Error("[tape] used on another thread than its own");
  if (impl_->consumed) throw Error("[tape] backward was called already: make a new tape");
  const auto index = static_cast<std::int64_t>(impl_->records.size());
  const auto known = parameter ? impl_->leaves.find(parameter.get()) : impl_->leaves.end();
  if (known != impl_->leaves.end()) {
    Tensor again = value;
    again.set_node({impl_->serial, known->second});
    return again;
  }
  Record record;
  record.leaf = {value, parameter.get()};
  record.leaf.value.set_node({impl_->serial, index});
  record.parameter = parameter;
  record.shape = value.shape();
  record.dtype = value.dtype();
  Tensor leaf = record.leaf.value;
  impl_->records.push_back(std::move(record));
  if (parameter) impl_->leaves.emplace(parameter.get(), index);  // if it throws the record is a leaf that nobody uses
  return leaf;
}

Kept Tape::Impl::keep(const Tensor& x) {
  Kept kept;
  kept.absent = !x.defined();
  if (kept.absent) return kept;
  kept.version = x.version();
  const Storage& storage = *x.storage();
  const bool from_cheap_record = x.node().tape == serial && storage.producer.tape == serial &&
                                 storage.produced_version == kept.version;
  if (!from_cheap_record) {
    kept.tensor = x;
    return kept;
  }
  kept.producer = storage.producer.index;
  kept.shape = x.shape();
  kept.strides = x.strides();
  kept.offset = x.offset();
  ++records[static_cast<std::size_t>(kept.producer)].uses;
  return kept;
}

Tensor Tape::record(std::unique_ptr<Op> op, const Inputs& in, Tensor out) {
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
    record.kept.push_back(cheap || op->keeps_input(i, needs) ? impl_->keep(in[i]) : Kept{});
    if (in[i].storage() == out.storage()) new_storage = false;
    const std::int64_t producer = record.kept.back().producer;
    if (producer >= 0)
      record.recomputed_depth = std::max(record.recomputed_depth,
                                         impl_->records[static_cast<std::size_t>(producer)].recomputed_depth);
  }
  ++record.recomputed_depth;
  const auto index = static_cast<std::int64_t>(impl_->records.size());
  out.set_node({impl_->serial, index});
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
  record.op = std::move(op);
  impl_->records.push_back(std::move(record));
  return out;
}

void Tape::backward(const Tensor& result, GradientSink& sink) {
  if (result.numel() != 1)
    throw Error("[backward] expected a result of one element or a cotangent, got shape " + to_string(result.shape()));
  backward(result, Tensor::full(result.shape(), 1.0, result.dtype()), sink);
}

void Tape::backward(const Tensor& result, const Tensor& cotangent, GradientSink& sink) {
  Impl& tape = *impl_;
  if (tape.thread != std::this_thread::get_id()) throw Error("[backward] called on another thread than the tape's own");
  if (tape.consumed) throw Error("[backward] this tape was consumed by an earlier backward");
  if (!owns(result)) throw Error("[backward] the result is not recorded on this tape: it depends on no leaf of it");
  if (!cotangent.defined()) throw Error("[backward] the cotangent is an undefined tensor");
  if (cotangent.shape() != result.shape() || cotangent.dtype() != result.dtype())
    throw Error("[backward] expected a cotangent of " + describe(result.dtype(), result.shape()) + ", got " +
                describe(cotangent.dtype(), cotangent.shape()));
  const std::int64_t last = result.node().index;
  std::vector<bool> reached(static_cast<std::size_t>(last) + 1, false);
  reached[static_cast<std::size_t>(last)] = true;
  for (std::int64_t i = last; i >= 0; --i) {
    Record& record = tape.records[static_cast<std::size_t>(i)];
    if (!reached[static_cast<std::size_t>(i)]) continue;
    tape.check_versions(record);
    for (std::int64_t input : record.inputs)
      if (input >= 0) reached[static_cast<std::size_t>(input)] = true;
    for (const Kept& kept : record.kept)
      if (kept.producer >= 0) reached[static_cast<std::size_t>(kept.producer)] = true;
  }
  std::vector<Leaf> leaves;
  for (const Record& record : tape.records)
    if (!record.op) leaves.push_back(record.leaf);
  NoGrad suspended;
  tape.consumed = true;
  tape.records[static_cast<std::size_t>(last)].gradient = cotangent.detach();
  try {
    sink.begin(leaves);
    tape.walk(last, sink);
  } catch (const std::bad_alloc&) {
    tape.clear();
    throw Error("[backward] out of memory");
  } catch (...) {
    tape.clear();
    throw;
  }
  tape.clear();
}

void Tape::Impl::clear() noexcept {
  records.clear();
  leaves.clear();
}

void Tape::Impl::walk(std::int64_t last, GradientSink& sink) {
  for (std::int64_t i = static_cast<std::int64_t>(records.size()) - 1; i > last; --i)
    release(records[static_cast<std::size_t>(i)]);
  Tape::Impl& tape = *this;
  for (std::int64_t i = last; i >= 0; --i) {
    Record& record = records[static_cast<std::size_t>(i)];
    if (!record.unwritten.empty()) {
      const OpTimer timer("gradients", &OpTime::backward);
      settle(record);
    }
    if (record.gradient.defined() && record.op) {
      check_versions(record);  // a sink may have written since
      Backward view(tape, i);
      const OpTimer timer(record.op->name(), &OpTime::backward);
      record.op->backward(view);
    } else if (record.gradient.defined()) {
      const OpTimer timer("gradients", &OpTime::backward);
      sink.complete(record.leaf, owned(std::move(record.gradient)));
    }
    release(record);
  }
}

void Tape::Impl::check_versions(const Record& record) const {
  for (const Kept& kept : record.kept)
    if (kept.tensor.defined() && kept.tensor.version() != kept.version)
      throw Error(std::string("[") + record.op->name() + "] backward: a tensor of shape " +
                  to_string(kept.tensor.shape()) + " that it needs was written after the forward pass");
}

Tensor Tape::Impl::restore(const Kept& kept) {
  if (kept.absent) return Tensor();
  if (kept.producer < 0) {
    if (!kept.tensor.defined()) throw Error("[tape] backward asks for a tensor that the operation doesn't keep");
    return kept.tensor;
  }
  return recompute(kept.producer).view(kept.shape, kept.strides, kept.offset);
}

const Tensor& Tape::Impl::recompute(std::int64_t index) {
  Record& record = records[static_cast<std::size_t>(index)];
  if (record.recomputed.defined()) return record.recomputed;
  check_versions(record);
  Inputs in;
  for (std::size_t i = 0; i < record.inputs.size(); ++i) in.push_back(restore(record.kept[i]).detach());
  const OpTimer timer(record.op->name(), &OpTime::recomputed);
  record.recomputed = record.op->forward(in, record.shape);
  return record.recomputed;
}

// Frees what the record held, and the outputs computed again that nobody else waits for.
void Tape::Impl::release(Record& record) {
  for (const Kept& kept : record.kept) {
    if (kept.producer < 0) continue;
    Record& producer = records[static_cast<std::size_t>(kept.producer)];
    if (--producer.uses == 0) producer.recomputed = Tensor();
  }
  record.op.reset();
  record.kept.clear();
  record.gradient = Tensor();
  record.unwritten.clear();
  record.recomputed = Tensor();
  record.leaf.value = Tensor();
  record.parameter.reset();
}

}  // namespace weft
