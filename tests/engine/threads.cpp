// Tests of the threads that run loops: regions, teams, the pool, executors, default numbers, forked children.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "context/pool.h"
#include "context/team.h"
#include "sweep.h"
#include "weft/context.h"
#include "weft/error.h"
#include "weft/os.h"

using namespace weft;
using detail::Team;

namespace {

// Touches each of n elements once, in a loop whose threads don't share scratch memory.
bool loop_is_right(Context& context, std::int64_t n, std::int64_t grain) {
  std::vector<int> touched(static_cast<std::size_t>(n));
  std::atomic<int> wrong{0};
  context.parallel_for(n, grain, sizeof(std::int64_t), [&](std::int64_t begin, std::int64_t end, void* scratch) {
    auto& own = *static_cast<std::int64_t*>(scratch);
    own = begin;
    for (std::int64_t i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
    wrong += own != begin || &Context::current() != &context;
  });
  for (int count : touched) wrong += count != 1;
  return wrong == 0;
}

std::set<std::thread::id> threads_of_loop(Context& context, std::int64_t tasks) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  context.parallel_for(tasks, 1, [&](std::int64_t, std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  return seen;
}

// Starts a new thread for each call. The first index runs last.
class NewThreads : public Executor {
 public:
  void run(int count, FunctionRef<void(int)> task) override {
    ++runs;
    most = std::max(most.load(), count);
    std::vector<std::thread> threads;
    for (int i = 1; i < count; ++i) threads.emplace_back([&, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
    task(0);
  }
  std::atomic<int> runs{0}, most{0};
};

class DefaultThreads {
 public:
  DefaultThreads() : before_(default_threads()) {}
  ~DefaultThreads() { set_default_threads(before_); }

 private:
  int before_;
};

}  // namespace

TEST_CASE("region: its loops are correct for any number of tasks and threads" * doctest::test_suite("threads")) {
  Context context;
  for (int threads : {1, 2, 3, 8}) {
    context.set_threads(threads);
    context.parallel_region([&] {
      CHECK(&Context::current() == &context);
      for (std::int64_t n : {0, 1, 2, 7, 64, 1000})
        for (std::int64_t grain : {1, 3}) CHECK(loop_is_right(context, n, grain));
      context.set_threads(2);
      CHECK(loop_is_right(context, 100, 1));
      context.set_threads(9);  // more than the region's threads
      CHECK(loop_is_right(context, 100, 1));
    });
  }
}

TEST_CASE("region: loops of another context inside a region use their own settings" * doctest::test_suite("threads")) {
  Context context, other;
  context.set_threads(4);
  other.set_threads(2);
  context.parallel_region([&] {
    const ContextScope scope(other);
    CHECK(loop_is_right(other, 200, 1));
    CHECK(threads_of_loop(other, 32).size() <= 2);
    other.set_threads(1);
    CHECK(threads_of_loop(other, 8).size() == 1);
  });
}

TEST_CASE("region: a nested region is part of the outer one, but inside a task it has only that thread" *
          doctest::test_suite("threads")) {
  Context context;
  context.set_threads(3);
  int inner = 0;
  context.parallel_region([&] {
    context.parallel_region([&] {
      ++inner;
      CHECK(loop_is_right(context, 50, 1));
#ifndef WEFT_THREADS_serial
      CHECK(threads_of_loop(context, 32).size() > 1);
#endif
    });
    CHECK(loop_is_right(context, 50, 1));
    std::atomic<int> strangers{0};
    context.parallel_for(12, 1, [&](std::int64_t, std::int64_t) {
      const auto self = std::this_thread::get_id();
      context.parallel_region([&] {
        context.parallel_for(4, 1,
                             [&](std::int64_t, std::int64_t) { strangers += std::this_thread::get_id() != self; });
      });
    });
    CHECK(strangers == 0);
  });
  CHECK(inner == 1);
  CHECK(loop_is_right(context, 50, 1));
}

TEST_CASE("region: exceptions of its body and of its loops reach the caller, and the next loop works" *
          doctest::test_suite("threads")) {
  Context context;
  context.set_threads(4);
  CHECK_THROWS_AS(context.parallel_region([] { throw std::out_of_range("body"); }), std::out_of_range);
  context.parallel_region([&] {
    std::atomic<int> calls{0};
    CHECK_THROWS_WITH_AS(context.parallel_for(1 << 20, 1,
                                              [&](std::int64_t, std::int64_t) {
                                                ++calls;
                                                throw Error("all of them");
                                              }),
                         "all of them", Error);
    CHECK(calls <= 4);
    CHECK(loop_is_right(context, 300, 1));
  });
  CHECK_THROWS_AS(context.parallel_region([&] {
    context.parallel_for(9, 1, [](std::int64_t i, std::int64_t) {
      if (i == 8) throw std::out_of_range("eight");
    });
  }),
                  std::out_of_range);
  CHECK(loop_is_right(context, 300, 1));
}

TEST_CASE("team: each loop that fails throws its own exception" * doctest::test_suite("threads")) {
  Context context;
  Team team(2);
  for (const char* what : {"first", "second", "third"})
    CHECK_THROWS_WITH_AS(team.run(context, 5, 2, [&](std::int64_t, int) { throw Error(what); }), what, Error);
  int done = 0;
  team.run(context, 5, 2, [&](std::int64_t, int) { ++done; });
  CHECK(done == 5);
}

// If a team kept two exceptions, or replaced one while it is thrown, it would free an exception too early or never.
TEST_CASE("team: if all members throw at the same time, one exception is kept and all are freed" *
          doctest::test_suite("threads")) {
  struct Counted {
    explicit Counted(std::atomic<int>& all) : alive(&all) { ++*alive; }
    Counted(const Counted& other) : alive(other.alive) { ++*alive; }
    ~Counted() { --*alive; }
    std::atomic<int>* alive;
  };
  Context context;
  const int rounds = test::sweep(20000, 4000);
  std::atomic<int> alive{0}, caught{0};
  Team team(3);
  std::vector<std::thread> members;
  for (int thread = 1; thread < 3; ++thread) members.emplace_back([&, thread] { team.serve(thread); });
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> ready{0};
    const auto body = [&](std::int64_t, int) {
      ++ready;
      for (int looks = 0; ready < 3 && looks < 2000; ++looks) {
      }
      throw Counted(alive);
    };
    try {
      team.run(context, 3, 3, body);
    } catch (const Counted&) {
      ++caught;
    }
  }
  team.dismiss();
  for (std::thread& member : members) member.join();
  CHECK(caught == rounds);
  CHECK(alive == 0);
}

TEST_CASE("region: concurrent regions on separate threads" * doctest::test_suite("threads")) {
  std::vector<std::thread> hosts;
  std::atomic<int> wrong{0};
  for (int host = 0; host < 3; ++host)
    hosts.emplace_back([&] {
      Context context;
      for (int round = 0; round < 20; ++round) {
        context.set_threads(1 + round % 4);
        context.parallel_region([&] {
          for (std::int64_t n = 1; n < 40; n += 3) wrong += !loop_is_right(context, n, 1);
        });
        wrong += !loop_is_right(context, 33, 2);
      }
    });
  for (std::thread& host : hosts) host.join();
  CHECK(wrong == 0);
}

// No member serves the team, so the leader runs all tasks and must not wait for members.
TEST_CASE("team: a loop ends when its tasks are done, even if members never arrive" * doctest::test_suite("threads")) {
  Context context;
  Team team(4);
  std::vector<int> done(1000);
  team.run(context, 1000, 4,
           [&](std::int64_t task, int thread) { done[static_cast<std::size_t>(task)] += 1 + thread; });
  CHECK(std::accumulate(done.begin(), done.end(), 0) == 1000);
}

TEST_CASE("team: a late member does not see a finished loop, and takes part in the next one" *
          doctest::test_suite("threads")) {
  Context context;
  Team team(2);
  int first = 0;
  team.run(context, 50, 2, [&](std::int64_t, int) { ++first; });
  std::thread late([&] { team.serve(1); });
  std::atomic<bool> came{false};
  std::atomic<int> second{0};
  team.run(context, 2, 2, [&](std::int64_t, int thread) {
    ++second;
    if (thread == 1) came = true;
    while (!came) std::this_thread::yield();  // the leader's task ends when the member has arrived
  });
  team.dismiss();
  late.join();
  CHECK(first == 50);
  CHECK(second == 2);
}

TEST_CASE("team: the leader waits for a task that another member still runs" * doctest::test_suite("threads")) {
  Context context;
  Team team(2);
  std::thread member([&] { team.serve(1); });
  for (int length : {0, 1, 20}) {  // in ms: shorter and longer than the leader spins
    std::atomic<bool> taken{false};
    std::atomic<int> done{0};
    team.run(context, 2, 2, [&](std::int64_t, int thread) {
      if (thread == 1) {
        taken = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(length));
      } else {
        while (!taken) std::this_thread::yield();
      }
      ++done;
    });
    CHECK(done == 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(length));  // the member falls asleep, too
  }
  team.dismiss();
  member.join();
}

TEST_CASE("team: members beyond a loop's number of threads do not take part in it" * doctest::test_suite("threads")) {
  Context context;
  Team team(4);
  std::vector<std::thread> members;
  for (int thread = 1; thread < 4; ++thread) members.emplace_back([&, thread] { team.serve(thread); });
  std::atomic<int> highest{0}, tasks{0};
  for (int round = 0; round < 20000; ++round) {
    const int threads = 1 + round % 4;
    team.run(context, 20, threads, [&](std::int64_t, int thread) {
      ++tasks;
      if (thread >= threads) highest = thread;
    });
  }
  team.dismiss();
  for (std::thread& member : members) member.join();
  CHECK(highest == 0);
  CHECK(tasks == 20000 * 20);
}

TEST_CASE("team: more tasks than it can count are distributed several at a time" * doctest::test_suite("threads")) {
  Context context;
  for (std::int64_t tasks : {1, 6, 7, 8, 13, 14, 15, 100}) {
    Team small(2, 7);
    std::vector<int> done(static_cast<std::size_t>(tasks));
    small.run(context, tasks, 2, [&](std::int64_t task, int) { ++done.at(static_cast<std::size_t>(task)); });
    CHECK(std::count(done.begin(), done.end(), 1) == tasks);
  }
  Team team(2);
  std::int64_t count = 0;
  const auto stop_soon = [&](std::int64_t task, int) {
    if (task != count++) throw Error("out of order");
    if (count == 1000) throw std::out_of_range("enough");
  };
  CHECK_THROWS_AS(team.run(context, std::int64_t{1} << 33, 1, stop_soon), std::out_of_range);
  CHECK(count == 1000);
}

TEST_CASE("pool: it lends teams, lets them grow, and has several if several threads lead at the same time" *
          doctest::test_suite("threads")) {
  Context context;
  for (int threads : {2, 4, 3}) {
    int sum = 0;
    detail::with_pooled_team(threads, [&](Team& team) {
      CHECK(team.threads() >= threads);
      std::atomic<int> tasks{0};
      team.run(context, 100, threads, [&](std::int64_t, int thread) { tasks += thread < threads; });
      sum = tasks;
      detail::with_pooled_team(2, [&](Team& another) { CHECK(&another != &team); });
    });
    CHECK(sum == 100);
  }
  CHECK_THROWS_AS(detail::with_pooled_team(2, [](Team&) { throw Error("lead"); }), Error);
}

TEST_CASE("pool: a team has at least the requested number of threads, even if the pool had one less before" *
          doctest::test_suite("threads")) {
  for (int threads = 2; threads < 8; ++threads)
    detail::with_pooled_team(threads, [&](Team& team) { CHECK(team.threads() >= threads); });
}

#ifdef __linux__
TEST_CASE("pool: threads that a less urgent thread has started serve only such threads" *
          doctest::test_suite("threads")) {
  const auto priorities = [] {  // of the three members of a team
    std::set<int> all;
    Context context;
    std::mutex mutex;
    std::atomic<int> begun{0};
    detail::with_pooled_team(3, [&](Team& team) {
      team.run(context, 3, 3, [&](std::int64_t, int) {
        for (++begun; begun < 3;) std::this_thread::yield();  // so that each member has one task
        const std::lock_guard<std::mutex> lock(mutex);
        all.insert(::getpriority(PRIO_PROCESS, 0));
      });
    });
    return all;
  };
  const int before = ::getpriority(PRIO_PROCESS, 0);
  for (int i = 0; i < 2; ++i) {
    std::thread([&] {
      os::lower_thread_priority();
      CHECK(priorities() == std::set<int>{std::min(before + 5, 19)});
      std::thread([&] { CHECK(priorities() == std::set<int>{std::min(before + 5, 19)}); }).join();
    }).join();
    CHECK(priorities() == std::set<int>{before});
  }
}
#endif

TEST_CASE("executor: the host's threads run the loops" * doctest::test_suite("threads")) {
  Context context;
  context.set_threads(3);
  const auto executor = std::make_shared<NewThreads>();
  context.set_executor(executor);
  for (std::int64_t n : {0, 1, 2, 3, 100}) CHECK(loop_is_right(context, n, 1));
  CHECK(executor->runs == 3);  // a loop with one task does not use the executor
  CHECK(executor->most == 3);
  context.parallel_region([&] { CHECK(loop_is_right(context, 100, 1)); });
  CHECK(executor->runs == 4);
  CHECK_THROWS_AS(context.parallel_for(100, 1, [](std::int64_t, std::int64_t) { throw Error("x"); }), Error);
  CHECK(loop_is_right(context, 100, 7));
  std::atomic<int> strangers{0};
  context.parallel_for(6, 1, [&](std::int64_t, std::int64_t) {
    const auto self = std::this_thread::get_id();
    context.parallel_for(6, 1, [&](std::int64_t, std::int64_t) { strangers += std::this_thread::get_id() != self; });
  });
  CHECK(strangers == 0);
  context.set_executor(nullptr);
  const int before = executor->runs;
  CHECK(loop_is_right(context, 100, 1));
  CHECK(executor->runs == before);
}

TEST_CASE("default threads: they apply to every context that has no setting of its own") {
  const DefaultThreads restored;
  Context early, told;
  told.set_threads(3);
  set_default_threads(5);
  CHECK(default_threads() == 5);
  CHECK(early.threads() == 5);
  CHECK(told.threads() == 3);
  CHECK(Context().threads() == 5);
  int seen = 0;
  std::thread([&] { seen = Context::current().threads(); }).join();
  CHECK(seen == 5);
  for (int count : {0, -1, 1025}) CHECK_THROWS_AS(set_default_threads(count), Error);
  CHECK(default_threads() == 5);
}

#ifndef __SANITIZE_THREAD__
// This also holds if OpenMP created the threads of the parent. OpenMP runtimes lose these threads in the child.
TEST_CASE("fork: a child has its own threads") {
  Context context;
  context.set_threads(3);
  CHECK(loop_is_right(context, 100, 1));
  detail::with_pooled_team(3, [](Team&) {});
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool right = loop_is_right(context, 100, 1);
    context.parallel_region([&] { right = right && loop_is_right(context, 100, 1); });
    ::_exit(right && threads_of_loop(context, 64).size() > 1 ? 0 : 1);
  }
  int status = -1;
  for (int tenths = 0; tenths < 300 && ::waitpid(child, &status, WNOHANG) == 0; ++tenths) ::usleep(100000);
  CHECK(status == 0);
  if (status == -1) ::kill(child, SIGKILL);
}
#endif
