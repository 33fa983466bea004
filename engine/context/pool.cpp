#include "context/pool.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "system/futex.h"
#include "system/priority.h"

namespace weft::detail {

namespace {

// A team and the threads that serve it. The threads sleep while nobody leads the team.
class Crew {
 public:
  explicit Crew(int threads) : team_(threads) { threads_.reserve(static_cast<std::size_t>(threads - 1)); }
  ~Crew() {
    team_.dismiss();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  Team& team() noexcept { return team_; }
  int priority() const noexcept { return priority_; }

  // Starts the missing threads. with_pooled_team calls this before each use of the crew. If the system refuses threads
  // or there is no memory for them, the existing threads do the work of the missing ones, and the log receives one
  // line.
  void fill() {
    try {
      for (int thread = static_cast<int>(threads_.size()) + 1; thread < team_.threads(); ++thread)
        threads_.emplace_back([this, thread] { team_.serve(thread); });
    } catch (const std::exception& error) {
      if (told_) return;
      told_ = true;
      Context::current().log("[threads] weft uses " + std::to_string(threads_.size() + 1) + " instead of " +
                             std::to_string(team_.threads()) +
                             " threads, because the system refused to start more: " + error.what());
    }
  }

 private:
  Team team_;
  const int priority_ = os::inherited_priority();  // of the threads
  std::vector<std::thread> threads_;
  bool told_ = false;
};

// The idle crews. For each priority, the pool never holds more crews than the maximum number that were in use at the
// same time.
class Pool {
 public:
  // Returns a crew. If it is too small, a larger one replaces it. The threads of a crew have the priority of the thread
  // that started them (os::lower_thread_priority). Only leaders with this priority get the crew. Otherwise, an urgent
  // thread would wait for threads that are less urgent.
  std::unique_ptr<Crew> take(int threads) {
    std::unique_ptr<Crew> crew;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found =
          std::find_if(idle_.rbegin(), idle_.rend(),
                       [priority = os::inherited_priority()](const auto& c) { return c->priority() == priority; });
      if (found != idle_.rend()) {
        crew = std::move(*found);
        idle_.erase(std::next(found).base());
      }
    }
    if (!crew || crew->team().threads() < threads) {
      crew.reset();
      crew = std::make_unique<Crew>(threads);
    }
    return crew;
  }

  // Keeps the crew for reuse. If there is no memory for that, the crew is destroyed.
  void give_back(std::unique_ptr<Crew> crew) noexcept {
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      idle_.push_back(std::move(crew));
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Crew>> idle_;
};

// The pool is never destroyed, because its threads are still asleep when the process ends. A child of fork() has none
// of its parent's threads and starts with a new pool.
std::atomic<Pool*> current_pool{nullptr};
[[maybe_unused]] const bool watching_forks = [] {
  os::in_forked_children([] { current_pool.store(nullptr); });
  return true;
}();

Pool& pool() {
  Pool* made = current_pool.load();
  if (made != nullptr) return *made;
  auto own = std::make_unique<Pool>();
  return current_pool.compare_exchange_strong(made, own.get()) ? *own.release() : *made;
}

}  // namespace

void with_pooled_team(int threads, FunctionRef<void(Team&)> lead) {
  struct Lease {
    Pool& from;
    std::unique_ptr<Crew> crew;
    ~Lease() {
      if (&from == current_pool.load()) from.give_back(std::move(crew));
      else (void)crew.release();  // in a forked child, the threads belong to the parent
    }
  };
  const Lease lease{pool(), pool().take(threads)};
  lease.crew->fill();
  lead(lease.crew->team());
}

}  // namespace weft::detail
