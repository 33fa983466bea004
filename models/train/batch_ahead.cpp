#include "train/batch_ahead.h"

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace weft::detail {

BatchAhead::BatchAhead(const Data& data, const Random& random, std::int64_t steps, std::int64_t count,
                       std::int64_t first, std::int64_t stride, std::int64_t loaders)
    : data_(data),
      random_(random),
      steps_(steps),
      count_(count),
      first_(first),
      stride_(stride),
      loaders_(loaders),
      isa_(Context::current().isa()) {
  start(loaders);
}

void BatchAhead::start(std::int64_t loaders) try {
  threads_.reserve(static_cast<std::size_t>(loaders));
  while (std::ssize(threads_) < loaders) threads_.emplace_back([this] { work(); });
} catch (const std::system_error& error) {  // the system refused another thread
  Context::current().log(
      "[train] " + std::to_string(threads_.size()) + " of " + std::to_string(loaders) +
      " threads prepare batches, because the system refused to start another thread: " + error.what());
}

BatchAhead::~BatchAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

BatchAhead::Prepared BatchAhead::prepare(std::int64_t step) const {
  Prepared prepared;
  try {
    for (std::int64_t i = first_; i < count_; i += stride_)
      prepared.batches.push_back(data_.training(step * count_ + i, random_));
  } catch (...) {
    prepared.error = std::current_exception();
  }
  return prepared;
}

std::vector<Batch> BatchAhead::take(std::int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Batch> batches = wait_for(step);
  seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return batches;
}

std::vector<Batch> BatchAhead::wait_for(std::int64_t step) {
  Prepared prepared;
  if (threads_.empty()) {
    prepared = prepare(step);
  } else {
    std::unique_lock<std::mutex> lock(mutex_);
    if (step != awaited_) begin_at(step);
    asked_ = step;
    changed_.notify_all();
    changed_.wait(lock, [&] { return ready_.contains(step); });
    asked_ = -1;
    prepared = std::move(ready_.extract(step).mapped());
    awaited_ = step + 1;
    lock.unlock();
    changed_.notify_all();
  }
  if (prepared.error) std::rethrow_exception(prepared.error);
  return std::move(prepared.batches);
}

// Begins at the given step, which is the first step or doesn't follow the previous one. Discards the prepared batches.
void BatchAhead::begin_at(std::int64_t step) {
  ready_.clear();
  awaited_ = next_ = step;
  ++restarts_;
  changed_.notify_all();
}

// Whether a step can be prepared now.
bool BatchAhead::has_work() const {
  if (next_ < 0 || next_ > awaited_ + loaders_) return false;
  return next_ < steps_ || next_ == asked_;
}

void BatchAhead::work() {
  Context context;  // its tensors are small, so it uses no other threads
  context.set_threads(1);
  context.set_isa(isa_);
  const ContextScope scope(context);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || has_work(); });
    if (ends_) return;
    const std::int64_t step = next_++, restarts = restarts_;
    lock.unlock();
    Prepared prepared = prepare(step);
    lock.lock();
    if (restarts != restarts_) continue;
    ready_.emplace(step, std::move(prepared));
    changed_.notify_all();
  }
}

}  // namespace weft::detail
