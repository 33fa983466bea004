// The OpenMP backend. A region is one `parallel` construct, so its barrier costs time once per region instead of once
// per loop.
#include <omp.h>

#include <atomic>

#include "context/backend.h"
#include "context/pool.h"
#include "system/futex.h"

namespace weft::detail {

namespace {

// OpenMP runtimes don't survive fork(): a child process would wait forever for the threads of its parent.
std::atomic<bool> forked{false};
[[maybe_unused]] const bool watching_forks = [] {
  os::in_forked_children([] { forked.store(true, std::memory_order_relaxed); });
  return true;
}();

}  // namespace

bool in_foreign_team() noexcept { return omp_in_parallel() != 0; }

// With OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY the calling thread is already bound to one CPU, but the runtime
// remembers all CPUs that the process may use.
int backend_cpus() noexcept { return omp_get_num_procs(); }

void with_team(int threads, FunctionRef<void(Team&)> lead) {
  if (forked.load(std::memory_order_relaxed)) return with_pooled_team(threads, lead);
  Team team(threads);
  std::exception_ptr error;
// The team keeps its size even for few tasks, because OpenMP runtimes stop and start threads when the size changes.
#pragma omp parallel num_threads(threads)
  {
    if (const int thread = omp_get_thread_num(); thread > 0) {
      team.serve(thread);
    } else {
      try {
        lead(team);
      } catch (...) {
        error = std::current_exception();
      }
      team.dismiss();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace weft::detail
