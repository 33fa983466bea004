#include "weft/op.h"

#include "tape/tape_records.h"
#include "weft/detail/op_timer.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/record_observer.h"

namespace weft {
using namespace detail;

bool would_record(const Inputs& in) {
  const Tape* tape = Tape::recording();
  bool any = false;
  if (tape)
    for (const Tensor& x : in) any = tape->impl_->takes(x) || any;
  return any;
}

namespace detail {
namespace {

thread_local RecordObserver* current_observer = nullptr;

}  // namespace

Tensor run_op(const char* name, FunctionRef<Tensor()> f) {
  return guard_memory(name, [&] {
    const OpTimer timer(name, &OpTime::forward);
    return f();
  });
}

Tensor compute(Op& op, const Inputs& in) {
  op.recording = would_record(in);
  const Shape shape = op.shape(in);
  const NoGrad suspended;
  return op.forward(in, shape);
}

Tensor record(std::unique_ptr<Op> op, const Inputs& in, Tensor out) {
  if (RecordObserver* observer = RecordObserver::current()) {
    const NoGrad suspended;
    observer->see(*op, in, out);
  }
  return Tape::recording()->impl_->add(std::move(op), in, std::move(out));
}

RecordObserver::RecordObserver(See callback) : see(std::move(callback)), previous_(current_observer) {
  current_observer = this;
}

RecordObserver::~RecordObserver() { current_observer = previous_; }

RecordObserver* RecordObserver::current() noexcept { return current_observer; }

}  // namespace detail
}  // namespace weft
