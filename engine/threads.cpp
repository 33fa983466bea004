#include "threads.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>

namespace weft {

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
// A team of constant size, however few the tasks: OpenMP's runtimes end and start threads when it changes.
#pragma omp parallel num_threads(threads)
  {
    ContextScope scope(context);
    const int thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < tasks; ++task) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        body(task, thread);
      } catch (...) {
        std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
        failed.store(true, std::memory_order_relaxed);
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace weft
