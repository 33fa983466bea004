// The system refuses to create more threads. Then fewer threads do the work, the log says so, and the bits are the
// same.
#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "context/pool.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"

namespace weft::test {
namespace {

bool thread_can_be_made() {
  try {
    std::thread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// Returns the losses of a few steps.
std::vector<double> losses(const std::string& folder) {
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  std::vector<double> all;
  RunOptions run;
  run.folder = folder;
  run.progress = [&](const Progress& p) { return all.push_back(p.loss), true; };
  Trainer(*small.model, *small.data, small_options(4)).run(run);
  return all;
}

}  // namespace

// Runs in a forked child, whose threads come from the pool even in a build with OpenMP.
TEST_CASE("faults: no more threads: existing threads give the same bits, and the log says so once") {
  const TemporaryFolder folder;
  std::filesystem::permissions(folder / "", std::filesystem::perms(0777));
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    Context context;
    context.set_threads(4);
    std::vector<std::string> lines;
    context.set_log([&](const std::string& line) { lines.push_back(line); });
    const ContextScope scope(context);
    if (!without_privileges()) return findings.skip("the user can't be changed");
    std::optional<Limit> none(std::in_place, RLIMIT_NPROC, 0);
    if (thread_can_be_made()) return findings.skip("the limit on processes doesn't hold here");
    const auto loop = [&] {
      std::atomic<std::int64_t> sum{0};
      context.parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
      findings.expect(sum == 999 * 500, "every piece of a loop");
    };
    loop();
    findings.expect(lines.size() == 1, std::to_string(lines.size()) + " lines of the log");
    findings.expect(!lines.empty() && lines[0].find("[threads] weft uses 1 instead of 4 threads") == 0,
                    lines.empty() ? "" : lines[0]);
    loop();
    context.parallel_region(loop);
    findings.expect(lines.size() == 1, "one line in all");
    Context another;  // not the current context, so the log of this context is used
    int told = 0;
    another.set_threads(6);
    another.set_log([&](const std::string&) { ++told; });
    another.parallel_for(100, 1, [](std::int64_t, std::int64_t) {});
    findings.expect(told == 1 && lines.size() == 1, "the log of the loop's own context");
    const std::vector<double> alone = losses(folder / "alone");
    bool said = false;
    for (const std::string& line : lines) said = said || line.find("[train] 0 of 1 threads prepare batches") == 0;
    findings.expect(said, "a line on batches");
    none.reset();
    findings.expect(losses(folder / "again") == alone, "the same losses");
  });
}

TEST_CASE("faults: threads that the system refused are created when it allows them again") {
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    if (!without_privileges()) return findings.skip("the user can't be changed");
    const auto members = [](int milliseconds) {
      std::atomic<int> waiting{0};
      std::atomic<bool> left{false};
      Context context;
      // Each thread waits for the others, but not forever, because fewer threads may arrive.
      detail::with_pooled_team(3, [&](detail::Team& team) {
        team.run(context, 3, 3, [&](std::int64_t, int) {
          ++waiting;
          for (int i = 0; i < milliseconds && waiting < 3 && !left; ++i) ::usleep(1000);
          if (waiting < 3) left = true;
        });
      });
      return !left.load();
    };
    {
      const Limit none(RLIMIT_NPROC, 0);
      if (thread_can_be_made()) return findings.skip("the limit on processes doesn't hold here");
      findings.expect(!members(100), "no other threads");
    }
    findings.expect(members(60000), "three threads");
  });
}

}  // namespace weft::test
