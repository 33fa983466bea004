#include "context/threads.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

namespace weft::detail {

namespace {

// The tasks that a thread does first, from memory it touched the last time; done with them, it helps the others.
struct alignas(64) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;
};

}  // namespace

bool in_parallel_region() noexcept { return omp_in_parallel() != 0; }

void run_tasks(Context& context, std::int64_t tasks, int threads,
               FunctionRef<void(std::int64_t task, int thread)> body) {
  if (threads <= 1 || tasks <= 1 || in_parallel_region()) {
    ContextScope scope(context);
    for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  std::exception_ptr error;
  std::mutex error_mutex;
  std::atomic<bool> failed{false};
  const int working = static_cast<int>(tasks < threads ? tasks : threads);
  std::vector<Share> shares(static_cast<std::size_t>(working));
  for (int t = 0; t < working; ++t) {
    shares[static_cast<std::size_t>(t)].next = tasks * t / working;
    shares[static_cast<std::size_t>(t)].end = tasks * (t + 1) / working;
  }
// A team of constant size, however few the tasks: OpenMP's runtimes end and start threads when it changes.
#pragma omp parallel num_threads(threads)
  {
    ContextScope scope(context);
    const int thread = omp_get_thread_num();
    for (int i = 0; i < working && thread < working; ++i) {
      Share& share = shares[static_cast<std::size_t>((thread + i) % working)];
      for (;;) {
        const std::int64_t task = share.next.fetch_add(1, std::memory_order_relaxed);
        if (task >= share.end || failed.load(std::memory_order_relaxed)) break;
        try {
          body(task, thread);
        } catch (...) {
          std::lock_guard<std::mutex> lock(error_mutex);
          if (!error) error = std::current_exception();
          failed.store(true, std::memory_order_relaxed);
        }
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace weft::detail
