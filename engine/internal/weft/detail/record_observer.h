// RecordObserver: observes recorded operations, for tests.
#pragma once
#include <functional>

#include "weft/op.h"

namespace weft::detail {

// While the observer is in scope, it calls `see` for every operation that this thread records, with the recorded op,
// its inputs and its output. Only the innermost observer is called.
class RecordObserver {
 public:
  using See = std::function<void(Op& op, const Inputs& in, const Tensor& out)>;
  explicit RecordObserver(See see);
  ~RecordObserver();
  RecordObserver(const RecordObserver&) = delete;
  RecordObserver& operator=(const RecordObserver&) = delete;

  // The calling thread's observer, or null.
  static RecordObserver* current() noexcept;

  See see;

 private:
  RecordObserver* previous_;
};

}  // namespace weft::detail
