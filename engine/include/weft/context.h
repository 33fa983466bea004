/// \file
/// Context: memory, plan caches, threads, instruction set and log of the operations that run under it.
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

/// How many threads each context uses that was not told otherwise. At first OMP_NUM_THREADS, or as many as there are CPUs
/// which the process may use (its affinity and control groups are respected), in either case at most OMP_THREAD_LIMIT.
int default_threads();
/// For the whole process, contexts that are there already included. Error unless 1 <= count <= 1024.
void set_default_threads(int count);

/// Threads of a host program, for it to lend: see Context::set_executor.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls task(0) … task(count - 1), each once, on any threads, in any order or at the same time; returns when all have
  /// returned. Calls that come late find nothing left to do. `task` doesn't throw; run may, while no call is running or
  /// still to come.
  virtual void run(int count, FunctionRef<void(int index)> task) = 0;
};

/// What operations run under: memory, plan caches, threads, instruction set and log. Two contexts on two threads never
/// meet. One context may serve several threads.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The calling thread's; made on first use.
  static Context& current();

  /// How many threads parallel_for uses: those that were set, or default_threads().
  int threads() const;
  /// Error unless 1 <= count <= 1024. Where the system refuses threads (RLIMIT_NPROC, no memory for their stacks) the log is
  /// told, and those that are there do the work; but OpenMP's runtime, in builds with it, ends the process: WEFT_THREADS=pool
  /// builds without.
  void set_threads(int count);
  /// Loops are done by the executor's threads, threads() of them at once, instead of weft's own; null: by those again.
  /// To be set before other threads use the context.
  void set_executor(std::shared_ptr<Executor> executor) { executor_ = std::move(executor); }
  /// The instruction set of the kernels; at first best_isa().
  Isa isa() const noexcept { return isa_.load(std::memory_order_relaxed); }
  /// Error if this CPU can't run it. Not while other threads compute in the context.
  void set_isa(Isa isa);

  /// Where tensors and scratch come from; a host's own memory by MemoryCache::set_source.
  MemoryCache& memory() noexcept { return *memory_; }
  /// The same, to be kept by what outlives the context.
  const std::shared_ptr<MemoryCache>& memory_handle() const noexcept { return memory_; }

  /// Receives lines of text.
  using Log = std::function<void(const std::string&)>;
  /// What weft says for people to read, that a program would else lose: now only that the system refuses threads. To be set
  /// before other threads use the context; called by the thread that asks for something; what it throws comes out there.
  void set_log(Log log) { log_ = std::move(log); }
  /// Gives the log a line, if there is one.
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  /// Calls body(begin, end) for consecutive pieces of [0, n), each `grain` long but the last. The pieces depend
  /// on n and grain alone. Inside a parallel region it runs serially; the first exception is rethrown here.
  void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t begin, std::int64_t end)> body);
  /// The same with `scratch_bytes` of scratch for each thread, aligned to 64 bytes, not cleared.
  void parallel_for(std::int64_t n, std::int64_t grain, std::size_t scratch_bytes,
                    FunctionRef<void(std::int64_t begin, std::int64_t end, void* scratch)> body);

  /// Calls body() with this context as the current one, and with its threads at hand for all loops in it: outside of a
  /// region each loop gathers them anew, and waits at its end for threads that another program may just have displaced.
  /// One region for a training step, a request or a whole run is what it is made for (Trainer, evaluate and generate open
  /// one). A region inside of a region is part of it. Rethrows what body throws. A child that was forked in a region must
  /// not leave it, and one that was forked in a task not its loop.
  void parallel_region(FunctionRef<void()> body);

  /// The context's one T, made on first use: plan caches of the rooms above. T does its own locking.
  template <class T>
  T& slot() {
    if (void* made = find_slot(typeid(T))) return *static_cast<T*>(made);
    return *static_cast<T*>(add_slot(typeid(T), std::make_shared<T>()));
  }

 private:
  void* find_slot(std::type_index type);                             // null if there is none
  void* add_slot(std::type_index type, std::shared_ptr<void> made);  // the one that was first

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
