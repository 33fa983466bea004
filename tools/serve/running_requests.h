// Counts the requests that are being answered, so that the server can wait for their end.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace serve {

class RunningRequests {
 public:
  // Returns a token. The request runs until all copies of the token are gone. Returns null if no requests are accepted
  // anymore.
  std::shared_ptr<void> begin() {
    {
      const std::lock_guard lock(mutex_);
      if (refuses_) return nullptr;
      ++count_;
    }
    return {this, [](RunningRequests* requests) { requests->end(); }};
  }
  // Accepts no more requests, and waits. After that time, has_to_end() is true.
  void drain(std::chrono::duration<double> time) {
    std::unique_lock lock(mutex_);
    refuses_ = true;
    if (!changed_.wait_for(lock, time, [&] { return count_ == 0; })) has_to_end_ = true;
    changed_.wait(lock, [&] { return count_ == 0; });
  }
  bool is_draining() const {
    const std::lock_guard lock(mutex_);
    return refuses_;
  }
  bool has_to_end() const noexcept { return has_to_end_; }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    --count_;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  bool refuses_ = false;
  std::atomic<bool> has_to_end_ = false;
};

}  // namespace serve
