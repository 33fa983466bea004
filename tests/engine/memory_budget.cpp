// Several caches in one process share a budget. Idle caches release their memory when the process runs out of memory.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "weft/context.h"
#include "weft/error.h"
#include "weft/tensor.h"

namespace weft::test {
namespace {

// Sets the budget while in scope. First, other caches release their memory.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : before_(MemoryCache::budget()) {
    MemoryCache::set_budget(0);
    MemoryCache::set_budget(bytes);
  }
  ~Budget() { MemoryCache::set_budget(before_); }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

 private:
  std::size_t before_;
};

std::uint64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

void use(MemoryCache& memory, std::size_t bytes) { memory.release(memory.allocate(bytes), bytes); }

}  // namespace

TEST_CASE("memory: all caches of the process share a budget, and the least recently used blocks are freed first") {
  const Budget budget(4096);
  CHECK(MemoryCache::budget() == 4096);
  MemoryCache idle, busy;
  use(idle, 1024);
  use(idle, 2048);
  use(busy, 1024);
  CHECK(idle.use().cached == 3072);
  CHECK(busy.use().cached == 1024);
  use(idle, 1024);  // now the block of 2048 is the oldest
  use(busy, 512);
  CHECK(idle.use().cached == 1024);
  CHECK(busy.use().cached == 1536);
  use(busy, 4096);  // the newest block stays, even if other caches own the others
  CHECK(idle.use().cached == 0);
  CHECK(busy.use().cached == 4096);
  use(busy, 5000);  // never fits into the budget
  CHECK(busy.use().cached == 4096);
  MemoryCache::set_budget(4000);
  CHECK(busy.use().cached == 0);
  {
    MemoryCache gone;
    use(gone, 4000 / 4 * 3);
    CHECK(gone.use().cached == 3072);
  }
  use(busy, 3072);  // the memory of the destroyed cache no longer counts
  use(busy, 512);
  CHECK(busy.use().cached == 3584);
}

TEST_CASE("memory: a large block returns to the system, even if later requests follow it") {
  constexpr std::size_t small = 3 << 20, large = 24 << 20;
  const Budget budget(0);
  MemoryCache memory;
  for (int k = 0; k < 3; ++k) use(memory, large);  // after these calls, malloc would keep such blocks
  std::vector<void*> larges, smalls;
  for (int k = 0; k < 8; ++k) {
    larges.push_back(memory.allocate(large));
    smalls.push_back(memory.allocate(small));
    std::memset(larges.back(), 1, large);
    std::memset(smalls.back(), 1, small);
  }
  const std::uint64_t before = resident_memory();
  for (void* block : larges) memory.release(block, large);
  CHECK(resident_memory() + 7 * large < before);
  for (void* block : smalls) memory.release(block, small);
}

TEST_CASE("memory: concurrent caches stay within the budget" * doctest::test_suite("threads")) {
  const Budget budget(1 << 16);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      MemoryCache memory;
      for (int i = 0; i < 400; ++i) use(memory, 1000 + static_cast<std::size_t>((i * 7 + t) % 11) * 900);
      CHECK(memory.use().current == 0);
      CHECK(memory.use().cached <= 1 << 16);
    });
  for (std::thread& thread : threads) thread.join();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

std::uint64_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

// Runs in a child process, because limits are permanent. An idle cache holds all available memory when another cache
// needs some.
int starved_child() {
  constexpr std::size_t block = 64 << 20;
  MemoryCache idle, busy;
  MemoryCache::set_budget(SIZE_MAX);
  const rlimit limit{address_space() + 6 * block, address_space() + 6 * block};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  std::vector<void*> taken;
  try {
    for (;;) taken.push_back(idle.allocate(block));
  } catch (const Error&) {
  }
  if (taken.size() < 3) return 3;
  for (void* each : taken) idle.release(each, block);
  if (idle.use().cached < 3 * block) return 4;
  try {
    busy.release(busy.allocate(2 * block), 2 * block);
  } catch (const Error&) {
    return 1;
  }
  return idle.use().cached == 0 ? 0 : 5;
}

}  // namespace

TEST_CASE("memory: an idle cache releases its memory when the process runs out of memory") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(starved_child());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

}  // namespace weft::test
