#include "weft/tape.h"

#include <algorithm>
#include <atomic>

#include "tape/tape_records.h"
#include "tensor/storage.h"
#include "weft/detail/op_timer.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"

namespace weft {
using namespace detail;

namespace {

std::atomic<std::uint64_t> next_serial{1};

}  // namespace

Tape::Frame*& Tape::Frame::top() noexcept {
  thread_local Frame* innermost = nullptr;
  return innermost;
}

Tape::Frame::Frame(Tape* recorder) noexcept : tape(recorder), below(top()) { top() = this; }

Tape::Frame::~Frame() {
  for (Frame** frame = &top(); *frame != nullptr; frame = &(*frame)->below)
    if (*frame == this) {
      *frame = below;
      return;
    }
}

Tape::Tape() : impl_(guard_memory("tape", [] { return std::make_unique<TapeRecords>(); })), frame_(this) {
  impl_->serial = next_serial.fetch_add(1);
  impl_->thread = std::this_thread::get_id();
}

Tape::~Tape() = default;

Tape* Tape::recording() noexcept {
  const Frame* frame = Frame::top();
  Tape* tape = frame ? frame->tape : nullptr;
  return tape && !tape->impl_->consumed ? tape : nullptr;
}

bool Tape::owns(const Tensor& x) const noexcept { return impl_->owns(x); }
std::int64_t Tape::records() const noexcept { return static_cast<std::int64_t>(impl_->records.size()); }

Tensor Tape::watch(const Tensor& x) {
  if (!x.defined()) throw Error("[tape] watch: the tensor is undefined");
  return leaf(x.detach(), nullptr);
}

Tensor Tape::leaf(const Tensor& value, const std::shared_ptr<const void>& parameter) {
  return guard_memory("tape", [&] {
    if (is_integer(value.dtype()))
      throw Error(std::string("[tape] ") + dtype_name(value.dtype()) + " tensors have no gradient");
    if (impl_->thread != std::this_thread::get_id())
      throw Error("[tape] a tape can be used only on the thread that made it");
    if (impl_->consumed) throw Error("[tape] backward was already called on this tape: make a new tape");
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
    if (parameter) impl_->leaves.emplace(parameter.get(), index);  // if this throws, the record stays as an unused leaf
    return leaf;
  });
}

void Tape::backward(const Tensor& result, GradientSink& sink) {
  if (result.numel() != 1)
    throw Error("[backward] expected a result with one element, or a cotangent, got a result of shape " +
                to_string(result.shape()));
  backward(result, Tensor::full(result.shape(), 1.0, result.dtype()), sink);
}

void Tape::backward(const Tensor& result, const Tensor& cotangent, GradientSink& sink) {
  TapeRecords& tape = *impl_;
  if (tape.thread != std::this_thread::get_id())
    throw Error("[backward] backward can be called only on the thread that made the tape");
  if (tape.consumed) throw Error("[backward] this tape was consumed by an earlier backward");
  if (!owns(result)) throw Error("[backward] the result is not on this tape: it depends on none of the tape's leaves");
  if (!cotangent.defined()) throw Error("[backward] the cotangent is an undefined tensor");
  if (cotangent.shape() != result.shape() || cotangent.dtype() != result.dtype())
    throw Error("[backward] expected the cotangent to be " + tensor_text(result) + ", got " + tensor_text(cotangent));
  guard_memory("backward", [&] {
    const std::int64_t last = result.node().index;
    std::vector<bool> reached(static_cast<std::size_t>(last) + 1, false);
    reached[static_cast<std::size_t>(last)] = true;
    for (std::int64_t i = last; i >= 0; --i) {
      Record& record = tape.at(i);
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
    tape.at(last).gradient.add(cotangent.detach());
    try {
      sink.begin(leaves);
      tape.walk(last, [&](std::int64_t i) {
        Record& record = tape.at(i);
        if (!record.gradient.defined()) return;
        const OpTimer timer("gradients", &OpTime::backward);
        sink.complete(record.leaf, owned(record.gradient.take()));
      });
      sink.end();
    } catch (...) {
      tape.clear();
      throw;
    }
    tape.clear();
  });
}

}  // namespace weft
