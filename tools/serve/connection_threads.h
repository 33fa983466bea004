// The threads that serve connections, each one at a time. Further connections wait.
#pragma once
#include <weft/error.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace serve {

class ConnectionThreads {
 public:
  // Throws an Error if the system refuses a thread.
  explicit ConnectionThreads(std::int64_t count) {
    threads_.reserve(static_cast<std::size_t>(count));
    try {
      while (std::ssize(threads_) < count) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {
      end();
      throw weft::Error("can't start the threads of " + std::to_string(count) + " connections: " + error.what() +
                        "; expected fewer --connections");
    }
  }
  ~ConnectionThreads() { end(); }
  ConnectionThreads(const ConnectionThreads&) = delete;
  ConnectionThreads& operator=(const ConnectionThreads&) = delete;

  // Runs the task as soon as a thread is free. Without memory for this, waits until there is some.
  void add(const std::function<void()>& task) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      try {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(task);
        break;
      } catch (const std::bad_alloc&) {
      }
    }
    changed_.notify_one();
  }
  // Whether a task waits because no thread is free. A thread that is about to wake up for a task still counts as free.
  bool others_wait() {
    const std::lock_guard lock(mutex_);
    return std::ssize(tasks_) > free_;
  }
  // Waits for the end of all tasks.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  void run() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        ++free_;
        changed_.wait(lock, [&] { return ended_ || !tasks_.empty(); });
        --free_;
        if (tasks_.empty()) return;
        task.swap(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::int64_t free_ = 0;  // threads that wait for a task
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace serve
