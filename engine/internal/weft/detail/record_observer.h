// RecordObserver: sees what is recorded, for tests.
#pragma once
#include <functional>

#include "weft/op.h"

namespace weft::detail {

// Calls `see` for every operation that this thread records while it is in scope, with the op as it is recorded, its inputs
// and its output. The innermost observer alone.
class RecordObserver {
 public:
  using See = std::function<void(Op& op, const Inputs& in, const Tensor& out)>;
  explicit RecordObserver(See see);
  ~RecordObserver();
  RecordObserver(const RecordObserver&) = delete;
  RecordObserver& operator=(const RecordObserver&) = delete;

  // The calling thread's, or null.
  static RecordObserver* current() noexcept;

  See see;

 private:
  RecordObserver* previous_;
};

}  // namespace weft::detail
