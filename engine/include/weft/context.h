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

#pragma GCC visibility push(default)
namespace weft {

/// The number of threads of each context for which set_threads() was not called. Initially this is the environment
/// variable OMP_NUM_THREADS. If that is not set, it is the number of CPUs that the process may use according to its CPU
/// affinity and control groups. In either case it is at most OMP_THREAD_LIMIT.
int default_threads();
/// Sets default_threads() for the whole process, including existing contexts. Error unless 1 <= count <= 1024.
void set_default_threads(int count);

/// An interface through which the host program lends its threads to weft. See Context::set_executor.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls task(0) … task(count - 1), each exactly once, on any threads, in any order or concurrently. Returns after
  /// all calls have returned. A call that starts late finds no work left and returns at once. `task` does not throw.
  /// run may throw, but only if no call is running and none will follow.
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
  /// Sets the number of threads. Error unless 1 <= count <= 1024. If the system refuses to create threads (because of
  /// RLIMIT_NPROC, or for lack of memory for stacks), the available threads do the work and the log receives a line. In
  /// builds with OpenMP, however, the OpenMP runtime then ends the process. Builds with WEFT_THREADS=pool avoid this.
  void set_threads(int count);
  /// Runs loops on threads of the executor instead of weft's own threads, at most threads() of them at once. Null
  /// selects weft's own threads again. Call this before other threads use the context.
  void set_executor(std::shared_ptr<Executor> executor) { executor_ = std::move(executor); }
  /// The instruction set of the kernels. Initially this is best_isa().
  Isa isa() const noexcept { return isa_.load(std::memory_order_relaxed); }
  /// Sets the instruction set. Error if this build has no kernels for it or this CPU can't run it. Do not call this
  /// while other threads compute in the context.
  void set_isa(Isa isa);

  /// The cache from which tensors and scratch memory are allocated. A host program can lend its own memory through
  /// MemoryCache::set_source.
  MemoryCache& memory() noexcept { return *memory_; }
  /// The same cache, for objects that may outlive the context and must keep the cache alive.
  const std::shared_ptr<MemoryCache>& memory_handle() const noexcept { return memory_; }

  /// A function that receives lines of text.
  using Log = std::function<void(const std::string&)>;
  /// Sets the function that receives messages for people. Currently the only message says that the system refuses to
  /// create threads. Call this before other threads use the context. The log is called on the thread whose request
  /// caused the message, and exceptions of the log reach that thread.
  void set_log(Log log) { log_ = std::move(log); }
  /// Passes a line to the log, if one is set.
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  /// Divides [0, n) into consecutive pieces and calls body(begin, end) for each piece, in parallel. Each piece has
  /// `grain` elements, except that the last one may have fewer. The pieces depend only on n and grain. The loop runs
  /// serially if the caller is inside a piece of another loop, or in an OpenMP parallel region of the host program. If
  /// body throws, the first exception is rethrown here.
  void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t begin, std::int64_t end)> body);
  /// The same, with `scratch_bytes` bytes of scratch memory for each thread. The memory is aligned to 64 bytes and not
  /// cleared.
  void parallel_for(std::int64_t n, std::int64_t grain, std::size_t scratch_bytes,
                    FunctionRef<void(std::int64_t begin, std::int64_t end, void* scratch)> body);

  /// Calls body() with this context as the current one, and keeps the context's threads ready for all loops in body.
  /// Outside of a region, each loop gathers its threads anew. At its end it waits for all of them, even for a thread
  /// that the system has just preempted in favor of another program. Use one region for a training step, a request or a
  /// whole run (Trainer, evaluate and generate each open one). A nested region is part of the outer one. Exceptions of
  /// body are rethrown. A child process that was forked inside a region must not return from the region, and one that
  /// was forked inside a piece of a loop must not return from that loop.
  void parallel_region(FunctionRef<void()> body);

  /// The context's only object of type T, which is created on first use. Modules above the engine keep plan caches
  /// here. T must be thread-safe.
  template <class T>
  T& slot() {
    if (void* made = find_slot(typeid(T))) return *static_cast<T*>(made);
    return *static_cast<T*>(add_slot(typeid(T), std::make_shared<T>()));
  }

 private:
  void* find_slot(std::type_index type);                             // null if there is none
  void* add_slot(std::type_index type, std::shared_ptr<void> made);  // returns the first one that was added

  std::atomic<int> threads_{0};  // 0: default_threads()
  std::atomic<Isa> isa_;
  std::shared_ptr<MemoryCache> memory_;
  std::shared_ptr<Executor> executor_;
  Log log_;
  std::mutex slots_mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> slots_;
};

/// Makes a context the calling thread's current one while the ContextScope is in scope.
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
#pragma GCC visibility pop
