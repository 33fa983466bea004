#include "context/team.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "system/futex.h"

namespace weft::detail {

namespace {

using Clock = std::chrono::steady_clock;

// The time that a thread spins before it sleeps. Larger: other programs lose CPU time, and the scheduler then gives
// weft a smaller share of it. Smaller: more wake-ups, each of 5 to 50 µs. On an idle machine, values from 20 to 200 µs
// change the speed by less than 3 %. bench: bench/steps/busy
constexpr std::chrono::microseconds patience{30};

thread_local int task_depth = 0;

class TaskScope {
 public:
  TaskScope() noexcept { ++task_depth; }
  ~TaskScope() { --task_depth; }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
};

// Spins until ready() is true or `patience` is over. Returns whether ready() became true.
template <class Ready>
bool spin_until(Ready ready) {
  const auto end = Clock::now() + patience;
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      os::relax();
    }
  } while (Clock::now() < end);
  return ready();
}

constexpr std::uint64_t numbered(std::uint32_t loop, std::uint32_t next) { return std::uint64_t{loop} << 32 | next; }

}  // namespace

bool in_task() noexcept { return task_depth > 0; }

void Team::run(Context& context, std::int64_t tasks, int threads, const TaskBody& body) {
  post(context, tasks, threads, body);
  if (sleeping_.load() > 0) os::wake(loop_);
  take_part(0);
  finish();
}

// Writes the new loop's number into each share before the share's new end and before the new number of members. A
// member that sees one of these new values also sees the new loop's number, so it cannot claim with the previous
// number.
void Team::post(Context& context, std::int64_t tasks, int threads, const TaskBody& body) {
  tasks_of_claim_ = (tasks - 1) / most_claims_ + 1;
  const std::int64_t claims = (tasks - 1) / tasks_of_claim_ + 1;
  const int working = static_cast<int>(std::min<std::int64_t>({claims, threads, this->threads()}));
  const std::uint32_t loop = loop_.load(std::memory_order_relaxed) + 1;
  for (int t = 0; t < working; ++t) {
    Share& share = shares_[static_cast<std::size_t>(t)];
    share.next.store(numbered(loop, static_cast<std::uint32_t>(claims * t / working)), std::memory_order_relaxed);
    share.end.store(static_cast<std::uint32_t>(claims * (t + 1) / working), std::memory_order_release);
  }
  working_.store(working, std::memory_order_release);
  context_ = &context;
  body_ = &body;
  tasks_ = tasks;
  failed_.store(false, std::memory_order_relaxed);
  unfinished_.store(static_cast<std::uint32_t>(claims), std::memory_order_relaxed);
  // This store and the accesses to sleeping_ are sequentially consistent: either the poster sees the sleeper, or the
  // sleeper sees the loop.
  loop_.store(loop);
}

// Returns the number of claims that the caller takes, starting at `first`. This is one or none, or all remaining claims
// if the loop has failed.
std::uint32_t Team::claim(Share& share, std::uint32_t loop, std::uint32_t& first) {
  std::uint64_t next = share.next.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t end = share.end.load(std::memory_order_acquire);
    first = static_cast<std::uint32_t>(next);
    if (next >> 32 != loop || first >= end) return 0;
    const std::uint32_t count = failed_.load(std::memory_order_relaxed) ? end - first : 1;
    if (share.next.compare_exchange_weak(next, next + count, std::memory_order_acq_rel, std::memory_order_acquire))
      return count;
  }
}

// Runs the tasks of a claim. Skips them once the loop has failed.
void Team::perform(std::uint32_t claimed, int thread) {
  const std::int64_t begin = claimed * tasks_of_claim_, end = begin + std::min(tasks_of_claim_, tasks_ - begin);
  for (std::int64_t task = begin; task < end && !failed_.load(std::memory_order_relaxed); ++task)
    (*body_)(task, thread);
}

void Team::take_part(int thread) {
  const std::uint32_t loop = loop_.load(std::memory_order_acquire);
  const int working = working_.load(std::memory_order_acquire);
  if (thread >= working) return;
  std::uint32_t done = 0;
  for (int i = 0; i < working; ++i) {
    Share& share = shares_[static_cast<std::size_t>((thread + i) % working)];
    std::uint32_t first = 0;
    while (const std::uint32_t count = claim(share, loop, first)) {
      done += count;
      try {
        const ContextScope scope(*context_);
        const TaskScope task;
        perform(first, thread);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
        failed_.store(true, std::memory_order_relaxed);
      }
    }
  }
  if (done == 0) return;
  if (unfinished_.fetch_sub(done) == done && leader_sleeps_.load()) os::wake(unfinished_);
}

void Team::finish() {
  const auto done = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (!done() && !spin_until(done)) {
    leader_sleeps_.store(true);
    while (const std::uint32_t unfinished = unfinished_.load()) os::sleep_while(unfinished_, unfinished);
    leader_sleeps_.store(false);
  }
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(error_, nullptr));
}

std::uint32_t Team::wait_for_loop_after(std::uint32_t loop) {
  const auto posted = [&] { return loop_.load(std::memory_order_acquire) != loop; };
  if (!spin_until(posted)) {
    ++sleeping_;
    while (loop_.load() == loop) os::sleep_while(loop_, loop);
    --sleeping_;
  }
  return loop_.load(std::memory_order_acquire);
}

void Team::serve(int thread) {
  // The member also takes part in a loop that was posted before this call.
  for (std::uint32_t loop = 0; !dismissed_.load(std::memory_order_acquire); loop = wait_for_loop_after(loop))
    take_part(thread);
}

void Team::dismiss() noexcept {
  dismissed_.store(true);
  loop_.fetch_add(1);
  os::wake(loop_);
}

}  // namespace weft::detail
