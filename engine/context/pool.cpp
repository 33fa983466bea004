#include "context/pool.h"

#include <memory>
#include <system_error>
#include <thread>

#include "system/futex.h"

namespace weft::detail {

namespace {

// A team and the threads that serve it, asleep while nobody leads it.
class Crew {
 public:
  explicit Crew(int threads) : team_(threads) {
    try {
      for (int thread = 1; thread < threads; ++thread) threads_.emplace_back([this, thread] { team_.serve(thread); });
    } catch (const std::system_error&) {  // no more to be had: the leader does their share
    }
  }
  ~Crew() {
    team_.dismiss();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  Team& team() noexcept { return team_; }

 private:
  Team team_;
  std::vector<std::thread> threads_;
};

// The crews that nobody leads: as many as led at once so far.
class Pool {
 public:
  // One that is too small makes room for a larger.
  std::unique_ptr<Crew> take(int threads) {
    std::unique_ptr<Crew> crew;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        crew = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!crew || crew->team().threads() < threads) {
      crew.reset();
      crew = std::make_unique<Crew>(threads);
    }
    return crew;
  }

  void give_back(std::unique_ptr<Crew> crew) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(crew));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Crew>> idle_;
};

// Never destroyed: its threads sleep when the process ends. A child of fork() has none of its parent's threads and
// begins anew.
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
  if (Pool* made = current_pool.load()) return *made;
  static std::mutex making;
  const std::lock_guard<std::mutex> lock(making);
  if (current_pool.load() == nullptr) {
    static const bool watching_forks = [] {
      os::in_forked_children([] { current_pool.store(nullptr); });
      return true;
    }();
    (void)watching_forks;
    current_pool.store(new Pool);
  }
  return *current_pool.load();
}

}  // namespace

void with_pooled_team(int threads, FunctionRef<void(Team&)> lead) {
  struct Lease {
    Pool& from;
    std::unique_ptr<Crew> crew;
    ~Lease() { from.give_back(std::move(crew)); }
  };
  const Lease lease{pool(), pool().take(threads)};
  lead(lease.crew->team());
}

}  // namespace weft::detail
