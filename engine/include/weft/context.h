// Context: memory, plan caches, threads, instruction set and log of the operations that run under it.
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
#include "weft/memory.h"

#pragma GCC visibility push(default)
namespace weft {

// A reference to a callable, valid for the duration of a call.
template <class Signature> class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  FunctionRef(const F& f) noexcept  // NOLINT: implicit on purpose
      : object_(&f), call_([](const void* o, A... a) -> R { return (*static_cast<const F*>(o))(a...); }) {}
  R operator()(A... a) const { return call_(object_, a...); }

 private:
  const void* object_;
  R (*call_)(const void*, A...);
};

// Two contexts on two threads never meet. One context may serve several threads.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The calling thread's; made on first use.
  static Context& current();

  int threads() const noexcept { return threads_.load(std::memory_order_relaxed); }
  // Error unless 1 <= count <= 1024. OpenMP's runtime ends the process if the system refuses it a thread.
  void set_threads(int count);
  Isa isa() const noexcept { return isa_.load(std::memory_order_relaxed); }
  void set_isa(Isa isa);  // Error if this CPU can't run it

  MemoryCache& memory() noexcept { return *memory_; }
  const std::shared_ptr<MemoryCache>& memory_handle() const noexcept { return memory_; }

  using Log = std::function<void(const std::string&)>;
  // To be set before other threads use the context.
  void set_log(Log log) { log_ = std::move(log); }
  void log(const std::string& line) const { if (log_) log_(line); }

  // Calls body(begin, end) for consecutive pieces of [0, n), each `grain` long but the last. The pieces depend
  // on n and grain alone. Inside a parallel region it runs serially; the first exception is rethrown here.
  using Body = FunctionRef<void(std::int64_t begin, std::int64_t end)>;
  void parallel_for(std::int64_t n, std::int64_t grain, Body body);
  // The same with `scratch_bytes` of scratch for each thread, aligned to 64 bytes, not cleared.
  using ScratchBody = FunctionRef<void(std::int64_t begin, std::int64_t end, void* scratch)>;
  void parallel_for(std::int64_t n, std::int64_t grain, std::size_t scratch_bytes, ScratchBody body);

  // The context's one T, made on first use: plan caches of the rooms above. T does its own locking.
  template <class T>
  T& slot() {
    if (void* made = find_slot(typeid(T))) return *static_cast<T*>(made);
    return *static_cast<T*>(add_slot(typeid(T), std::make_shared<T>()));
  }

 private:
  void* find_slot(std::type_index type);                             // null if there is none
  void* add_slot(std::type_index type, std::shared_ptr<void> made);  // the one that was first

  std::atomic<int> threads_;
  std::atomic<Isa> isa_;
  std::shared_ptr<MemoryCache> memory_;
  Log log_;
  std::mutex slots_mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> slots_;
};

// Makes `context` the calling thread's current one while in scope.
class ContextScope {
 public:
  explicit ContextScope(Context& context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Context* previous_;
};

}  // namespace weft
#pragma GCC visibility pop
