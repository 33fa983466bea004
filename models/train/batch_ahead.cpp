#include "train/batch_ahead.h"

#include <string>
#include <system_error>
#include <utility>

namespace weft::detail {

BatchAhead::BatchAhead(const Data& data, const Random& random, std::int64_t count, std::int64_t first,
                       std::int64_t stride)
    : data_(data), random_(random), count_(count), first_(first), stride_(stride), isa_(Context::current().isa()) {
  if (Context::current().threads() > 1) try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {  // no more threads: take() prepares the batches
      Context::current().log(
          std::string("[train] batches are prepared between the steps, because the system refused a thread: ") +
          error.what());
    }
}

BatchAhead::~BatchAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<Batch> BatchAhead::prepare(std::int64_t step) const {
  std::vector<Batch> batches;
  for (std::int64_t i = first_; i < count_; i += stride_) batches.push_back(data_.training(step * count_ + i, random_));
  return batches;
}

std::vector<Batch> BatchAhead::take(std::int64_t step) {
  if (!thread_.joinable()) return prepare(step);
  std::unique_lock<std::mutex> lock(mutex_);
  if (ready_ != step) wanted_ = step;  // the first step, or one out of order
  changed_.notify_all();
  changed_.wait(lock, [&] { return ready_ == step; });
  std::vector<Batch> batches = std::move(batches_);
  const std::exception_ptr error = std::exchange(error_, nullptr);
  ready_ = -1;
  wanted_ = step + 1;
  lock.unlock();
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
  return batches;
}

void BatchAhead::work() {
  Context context;  // its tensors are small, so it uses no other threads
  context.set_threads(1);
  context.set_isa(isa_);
  const ContextScope scope(context);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || (wanted_ >= 0 && wanted_ != ready_); });
    if (ends_) return;
    const std::int64_t step = wanted_;
    lock.unlock();
    std::vector<Batch> batches;
    std::exception_ptr error;
    try {
      batches = prepare(step);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    batches_ = std::move(batches);
    error_ = error;
    ready_ = step;
    if (wanted_ == step) wanted_ = -1;
    changed_.notify_all();
  }
}

}  // namespace weft::detail
