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

/// The number of threads of each context without its own set_threads(). Initially this is OMP_NUM_THREADS, or the
/// number of CPUs that the process may use (its affinity and control groups are respected). In either case it is at
/// most OMP_THREAD_LIMIT.
int default_threads();
/// Sets it for the whole process, including existing contexts. Error unless 1 <= count <= 1024.
void set_default_threads(int count);

/// Lends threads of the host program to weft: see Context::set_executor.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls task(0) … task(count - 1), each once, on any threads, in any order or concurrently. Returns when all calls
  /// have returned. Calls that start late find no work left. `task` does not throw. run may throw, but only when no
  /// call is running or still to come.
  virtual void run(int count, FunctionRef<void(int index)> task) = 0;
};

/// The environment of operations: memory, plan caches, threads, instruction set and log. Several threads may share one
/// context. Two contexts on two threads share only process-wide resources: the budget of all memory caches, the default
/// number of threads and the pool of idle threads.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The calling thread's current context. It is created on first use.
  static Context& current();

  /// The number of threads that parallel_for uses: the number that was set, or default_threads().
  int threads() const;
  /// Error unless 1 <= count <= 1024. If the system refuses threads (RLIMIT_NPROC, no memory for stacks), the log
  /// receives a line and the available threads do the work. In builds with OpenMP, however, the OpenMP runtime ends the
  /// process then. Builds with WEFT_THREADS=pool avoid this.
  void set_threads(int count);
  /// Runs loops on the executor's threads, threads() of them at once, instead of weft's own. Null returns to weft's own
  /// threads. Set this before other threads use the context.
  void set_executor(std::shared_ptr<Executor> executor) { executor_ = std::move(executor); }
  /// The instruction set of the kernels; initially best_isa().
  Isa isa() const noexcept { return isa_.load(std::memory_order_relaxed); }
  /// Error if this CPU can't run it. Do not call this while other threads compute in the context.
  void set_isa(Isa isa);

  /// The source of tensor and scratch memory. A host lends its own memory by MemoryCache::set_source.
  MemoryCache& memory() noexcept { return *memory_; }
  /// The same, for objects that outlive the context and must keep the cache.
  const std::shared_ptr<MemoryCache>& memory_handle() const noexcept { return memory_; }

  /// Receives lines of text.
  using Log = std::function<void(const std::string&)>;
  /// Receives messages for people that a program would otherwise lose. Currently the only one says that the system
  /// refuses threads. Set this before other threads use the context. The log is called on the thread whose request
  /// caused the message, and its exceptions reach that thread.
  void set_log(Log log) { log_ = std::move(log); }
  /// Sends the log a line, if there is a log.
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  /// Calls body(begin, end) for consecutive pieces of [0, n). Each piece has `grain` elements, the last one possibly
  /// fewer. The pieces depend only on n and grain. The loop runs serially if the caller is inside a piece of another
  /// loop, or in an OpenMP parallel region of the host program. The first exception is rethrown here.
  void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t begin, std::int64_t end)> body);
  /// The same, with `scratch_bytes` of scratch memory for each thread, aligned to 64 bytes and not cleared.
  void parallel_for(std::int64_t n, std::int64_t grain, std::size_t scratch_bytes,
                    FunctionRef<void(std::int64_t begin, std::int64_t end, void* scratch)> body);

  /// Calls body() with this context as the current one and keeps its threads ready for all loops in it. Outside of a
  /// region each loop gathers its threads anew, and at its end waits for threads that another program may just have
  /// displaced. Use one region for a training step, a request or a whole run (Trainer, evaluate and generate open one).
  /// A nested region is part of the outer one. Exceptions of body are rethrown. A child process that was forked in a
  /// region must not leave the region, and one that was forked in a task must not leave the task's loop.
  void parallel_region(FunctionRef<void()> body);

  /// The context's only object of type T, created on first use. Higher modules keep plan caches here. T does its own
  /// locking.
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

/// Makes `context` the calling thread's current one while in scope.
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
