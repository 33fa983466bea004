// A team of threads that share the tasks of loops. One of them, the leader, posts a loop and takes part in it. The loop
// is complete when all its tasks are complete, whether or not every other member took part.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "weft/context.h"

namespace weft::detail {

using TaskBody = FunctionRef<void(std::int64_t task, int thread)>;

// Whether the calling thread is inside a task. Loops inside a task run only on that thread.
bool in_task() noexcept;

class Team {
 public:
  // If a loop has more than most_claims tasks, each claim takes several tasks.
  explicit Team(int threads, std::int64_t most_claims = std::int64_t{1} << 30)
      : shares_(static_cast<std::size_t>(threads)), most_claims_(most_claims) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const noexcept { return static_cast<int>(shares_.size()); }

  // Only the leader calls this. Runs body(task, thread) for each task = 0 … tasks-1, with thread < threads and
  // `context` as the current context. If a task throws, skips the tasks that have not started yet, and rethrows the
  // first exception.
  void run(Context& context, std::int64_t tasks, int threads, const TaskBody& body);

  // Every other member calls this, with 0 < thread < threads(). It takes part in loops until dismiss() is called.
  void serve(int thread);
  void dismiss() noexcept;

  // The steps of run(), for members that are called for a single loop: first post, then take_part on each member, then
  // finish.
  void post(Context& context, std::int64_t tasks, int threads, const TaskBody& body);
  void take_part(int thread);
  void finish();

 private:
  // The claims that a member takes first. Loops of the same size are split in the same way, so the member's caches
  // often hold the data from the previous loop. After its own claims, the member helps the others. A claim is a
  // compare-and-exchange of `next`, whose upper half is the loop's number. A late member that still has the number of a
  // completed loop therefore gets no claim of the next loop.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint32_t> end{0};
  };

  std::uint32_t claim(Share& share, std::uint32_t loop, std::uint32_t& first);
  void perform(std::uint32_t claimed, int thread);
  std::uint32_t wait_for_loop_after(std::uint32_t loop);

  std::vector<Share> shares_;
  const std::int64_t most_claims_;
  alignas(64) std::atomic<std::uint32_t> loop_{0};  // number of the last posted loop
  std::atomic<int> sleeping_{0};                    // members that wait for the next loop
  std::atomic<bool> dismissed_{false};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  // unfinished claims of the loop
  std::atomic<bool> leader_sleeps_{false};

  // State of the current loop. It is written only while there is no unfinished claim.
  std::atomic<int> working_{0};  // members that may take part
  Context* context_ = nullptr;
  const TaskBody* body_ = nullptr;
  std::int64_t tasks_ = 0, tasks_of_claim_ = 1;

  std::atomic<bool> failed_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace weft::detail
