// A team of threads that share the tasks of loops. One of them, the leader, posts a loop and takes part in it; it is done
// when its tasks are done, whether or not every other member has come by.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "weft/context.h"

namespace weft::detail {

using TaskBody = FunctionRef<void(std::int64_t task, int thread)>;

// Whether the calling thread is in a task: what it loops over there, it does alone.
bool in_task() noexcept;

class Team {
 public:
  explicit Team(int threads) : shares_(static_cast<std::size_t>(threads)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const noexcept { return static_cast<int>(shares_.size()); }

  // The leader's: body(task, thread) for each task = 0 … tasks-1, with thread < threads, by which `context` is current.
  // Rethrows the first exception; tasks that had not begun by then are left out.
  void run(Context& context, std::int64_t tasks, int threads, const TaskBody& body);

  // Another member's, 0 < thread < threads(): takes part in loops until dismiss().
  void serve(int thread);
  void dismiss() noexcept;

  // run() in parts, for members that are called for one loop: post, then each member's take_part, then finish.
  void post(Context& context, std::int64_t tasks, int threads, const TaskBody& body);
  void take_part(int thread);
  void finish();

 private:
  // The claims that a member takes first, as its caches hold what it touched in the loop before; then it helps the others.
  // A claim is an exchange of `next`, whose upper half is the loop's number: a member that comes late, with the number of
  // a loop that is done, gets none of the next one's.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint32_t> end{0};
  };

  std::uint32_t claim(Share& share, std::uint32_t loop, std::uint32_t& first);
  void perform(std::uint32_t claimed, int thread);
  std::uint32_t wait_for_loop_after(std::uint32_t loop);

  std::vector<Share> shares_;
  alignas(64) std::atomic<std::uint32_t> loop_{0};  // number of the last posted
  std::atomic<int> sleeping_{0};                    // members who wait for the next
  std::atomic<bool> dismissed_{false};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  // claims of the loop
  std::atomic<bool> leader_sleeps_{false};

  // The loop's; written only while no claim is unfinished.
  std::atomic<int> working_{0};  // members that may take part
  Context* context_ = nullptr;
  const TaskBody* body_ = nullptr;
  std::int64_t tasks_ = 0, tasks_of_claim_ = 1;

  std::atomic<bool> failed_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace weft::detail
