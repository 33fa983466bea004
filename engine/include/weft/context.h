/// \file
/// Context: the memory, plan caches, threads, instruction set and log that operations use.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <unordered_map>

#include "weft/cpu.h"
#include "weft/function_ref.h"
#include "weft/memory.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The number of threads of each context for which set_threads() was not called. The initial value is the first number
/// in the environment variable OMP_NUM_THREADS. If this variable is not set, the initial value is the number of CPUs
/// that the process may use according to its CPU affinity and control groups. In both cases, the environment variable
/// OMP_THREAD_LIMIT is an upper limit.
int default_threads();
/// Sets default_threads() for the whole process, including existing contexts. Error unless 1 <= count <= 1024.
void set_default_threads(int count);

/// An interface through which the host program lends its threads to weft. See Context::set_executor.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls task(0) … task(count - 1), each exactly once, on any threads, in any order or concurrently. Returns after
  /// all calls have returned. A call of `task` that starts after all the work is done returns immediately. `task` does
  /// not throw. run() may throw only when no call of `task` is running and none will follow.
  virtual void run(int count, FunctionRef<void(int index)> task) = 0;
};

/// The environment of operations: memory, plan caches, threads, instruction set and log. Several threads may share one
/// context. Different contexts share only process-wide resources: the budget of all memory caches, the default number
/// of threads and the pool of idle threads.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The calling thread's current context: that of the innermost ContextScope, otherwise the thread's own context,
  /// which is created on first use.
  static Context& current();

  /// The number of threads that parallel_for uses: the number from set_threads(), or default_threads().
  int threads() const;
  /// Sets the number of threads. Error unless 1 <= count <= 1024. The system may refuse to create threads because of
  /// RLIMIT_NPROC or because there is no memory for stacks. In builds with WEFT_THREADS=pool, the available threads
  /// then do the work and the log receives a line. In builds with OpenMP, the OpenMP runtime ends the process instead.
  void set_threads(int count);
  /// Runs loops on threads of the executor instead of weft's own threads. A loop uses at most threads() of them at a
  /// time. A null pointer selects weft's own threads again. Call this before other threads use the context.
  void set_executor(std::shared_ptr<Executor> executor) { executor_ = std::move(executor); }
  /// The instruction set of the kernels. Initially this is best_isa().
  Isa isa() const noexcept { return isa_.load(std::memory_order_relaxed); }
  /// Sets the instruction set. Error if this build has no kernels for it or this CPU can't run it. Do not call this
  /// while other threads compute in the context.
  void set_isa(Isa isa);

  /// The cache from which tensors and scratch memory are allocated. A host program can lend its own memory through
  /// MemoryCache::set_source.
  MemoryCache& memory() noexcept { return *memory_; }
  /// An owning pointer to the cache, for objects that may outlive the context and must keep the cache alive.
  const std::shared_ptr<MemoryCache>& memory_handle() const noexcept { return memory_; }

  /// A function that receives lines of text.
  using Log = std::function<void(const std::string&)>;
  /// Sets the function that receives log messages. Currently, the only message says that the system refused to create
  /// threads. Call set_log before other threads use the context. weft calls `log` on the thread whose loop or region
  /// needed the threads. An exception that `log` throws propagates to the caller of that loop or region.
  void set_log(Log log) { log_ = std::move(log); }
  /// Passes a line to the log, if one is set.
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  /// A function that may end a computation by throwing an exception.
  using Interrupt = std::function<void()>;
  /// Sets a function that weft calls at the start of each loop, on the thread that begins it, but not always inside a
  /// piece of another loop. Its exception ends the operation and reaches the caller, who can cancel a long forward pass
  /// in this way. For training, use RunOptions::stop: a canceled step leaves parameters and optimizers unspecified.
  /// An empty function removes it. Call set_interrupt while no other thread uses the context.
  void set_interrupt(Interrupt interrupt) { interrupt_ = std::move(interrupt); }

  /// Divides [0, n) into consecutive pieces and calls body(begin, end) for each piece, in parallel. Each piece has
  /// `grain` elements, except that the last one may have fewer. The pieces depend only on n and grain. The loop runs
  /// serially if the caller is inside a piece of another loop. In builds with OpenMP, it also runs serially inside an
  /// OpenMP parallel region of the host program. If body throws, parallel_for rethrows the first exception.
  void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t begin, std::int64_t end)> body);
  /// Like the function above, but also passes scratch memory to body. Each thread has its own `scratch_bytes` bytes,
  /// which are aligned to 64 bytes and uninitialized.
  void parallel_for(std::int64_t n, std::int64_t grain, std::size_t scratch_bytes,
                    FunctionRef<void(std::int64_t begin, std::int64_t end, void* scratch)> body);

  /// Calls body() with this context as the current one, and keeps a team of threads ready for all loops in body.
  /// Outside of a region, each loop sets up its own team. In builds with OpenMP, such a loop then also waits at its end
  /// for all threads of its team, even for a thread that the system has just preempted in favor of another program. Use
  /// one region for a training step, a request or a whole run. Trainer, evaluate and generate each open a region. A
  /// nested region uses the team of the outer region. If body throws, parallel_region rethrows the exception. A child
  /// process that was forked inside a region must not return from the region. A child process that was forked inside a
  /// piece of a loop must not return from that loop.
  void parallel_region(FunctionRef<void()> body);

  /// Returns the context's only object of type T, which the first call creates. The operations store their plan caches
  /// in such objects. T must be thread-safe.
  template <class T>
  T& slot() {
    if (void* made = find_slot(typeid(T))) return *static_cast<T*>(made);
    return *static_cast<T*>(add_slot(typeid(T), std::make_shared<T>()));
  }

 private:
  void* find_slot(std::type_index type);                             // null if there is none
  void* add_slot(std::type_index type, std::shared_ptr<void> made);  // returns the object that was added first

  std::atomic<int> threads_{0};  // 0: default_threads()
  std::atomic<Isa> isa_;
  std::shared_ptr<MemoryCache> memory_;
  std::shared_ptr<Executor> executor_;
  Log log_;
  Interrupt interrupt_;
  std::mutex slots_mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> slots_;
};

/// Makes a context the current context of the calling thread while the ContextScope is in scope.
class ContextScope {
 public:
  /// The context must outlive the scope.
  explicit ContextScope(Context& context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Context* previous_;
};

}  // namespace weft
WEFT_PUBLIC_END
