#include "train/batch_ahead.h"

#include <utility>

namespace weft::detail {

BatchAhead::BatchAhead(const Data& data, const Random& random)
    : data_(data), random_(random), isa_(Context::current().isa()), thread_([this] { work(); }) {}

BatchAhead::~BatchAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch BatchAhead::take(std::int64_t k) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ready_ != k) wanted_ = k;  // the first one, or another than what comes next
  changed_.notify_all();
  changed_.wait(lock, [&] { return ready_ == k; });
  const Batch batch = std::move(batch_);
  const std::exception_ptr error = std::exchange(error_, nullptr);
  ready_ = -1;
  wanted_ = k + 1;
  lock.unlock();
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
  return batch;
}

void BatchAhead::work() {
  Context context;  // its tensors are small: no other threads
  context.set_threads(1);
  context.set_isa(isa_);
  const ContextScope scope(context);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || (wanted_ >= 0 && wanted_ != ready_); });
    if (ends_) return;
    const std::int64_t k = wanted_;
    lock.unlock();
    Batch batch;
    std::exception_ptr error;
    try {
      batch = data_.training(k, random_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    batch_ = std::move(batch);
    error_ = error;
    ready_ = k;
    if (wanted_ == k) wanted_ = -1;
    changed_.notify_all();
  }
}

}  // namespace weft::detail
