// Tests of Context: parallel_for, scratch memory, several contexts, memory.
#include "weft/context.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "weft/error.h"
#include "weft/tensor.h"

using namespace weft;

namespace {

using Piece = std::pair<std::int64_t, std::int64_t>;

std::vector<Piece> pieces_of(Context& context, std::int64_t n, std::int64_t grain) {
  std::mutex mutex;
  std::vector<Piece> pieces;
  context.parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

// Sets WEFT_ISA while in scope.
class IsaCap {
 public:
  explicit IsaCap(const char* value) {
    if (const char* old = ::getenv("WEFT_ISA")) before_ = old;
    ::setenv("WEFT_ISA", value, 1);
  }
  ~IsaCap() { before_.empty() ? ::unsetenv("WEFT_ISA") : ::setenv("WEFT_ISA", before_.c_str(), 1); }

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("parallel_for: pieces depend only on n and grain" * doctest::test_suite("threads")) {
  Context context;
  for (int threads : {1, 2, 3, 8}) {
    context.set_threads(threads);
    CHECK(pieces_of(context, 10, 4) == std::vector<Piece>{{0, 4}, {4, 8}, {8, 10}});
    CHECK(pieces_of(context, 8, 4) == std::vector<Piece>{{0, 4}, {4, 8}});
    CHECK(pieces_of(context, 3, 4) == std::vector<Piece>{{0, 3}});
    CHECK(pieces_of(context, 1, 1) == std::vector<Piece>{{0, 1}});
    CHECK(pieces_of(context, 0, 4).empty());
    CHECK(pieces_of(context, -5, 4).empty());
    CHECK(pieces_of(context, 10, INT64_MAX) == std::vector<Piece>{{0, 10}});
    CHECK(pieces_of(context, 1000, 1).size() == 1000);
    const std::int64_t half = INT64_MAX / 2;  // 2^62 - 1
    CHECK(pieces_of(context, INT64_MAX, half + 1) == std::vector<Piece>{{0, half + 1}, {half + 1, INT64_MAX}});
    CHECK(pieces_of(context, INT64_MAX, half) ==
          std::vector<Piece>{{0, half}, {half, 2 * half}, {2 * half, INT64_MAX}});
  }
}

TEST_CASE("parallel_for: it uses at most the number of threads that is set, and more than one" *
          doctest::test_suite("threads")) {
  Context context;
  for (int threads : {1, 2, 4}) {
    context.set_threads(threads);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    context.parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::lock_guard<std::mutex> lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    CHECK(seen.size() <= static_cast<std::size_t>(threads));
#ifndef WEFT_THREADS_serial
    CHECK((seen.size() > 1) == (threads > 1));
#endif
  }
}

TEST_CASE("parallel_for: a body's exception reaches the caller" * doctest::test_suite("threads")) {
  Context context;
  for (int threads : {1, 4}) {
    context.set_threads(threads);
    CHECK_THROWS_AS(context.parallel_for(100, 1,
                                         [](std::int64_t i, std::int64_t) {
                                           if (i >= 50) throw std::out_of_range("fifty");
                                         }),
                    std::out_of_range);
    std::atomic<int> calls{0};
    CHECK_THROWS_WITH_AS(context.parallel_for(100000, 1,
                                              [&](std::int64_t, std::int64_t) {
                                                ++calls;
                                                throw Error("all of them");
                                              }),
                         "all of them", Error);
    CHECK(calls <= threads);
    CHECK(pieces_of(context, 10, 4).size() == 3);  // it still works
  }
}

TEST_CASE("parallel_for: a call inside a body runs serially" * doctest::test_suite("threads")) {
  Context context;
  context.set_threads(4);
  std::atomic<int> strangers{0}, calls{0};
  context.parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    const auto self = std::this_thread::get_id();
    std::int64_t next = 0;
    context.parallel_for(10, 3, [&](std::int64_t begin, std::int64_t end) {
      if (std::this_thread::get_id() != self || begin != next) ++strangers;
      next = end;
      ++calls;
    });
  });
  CHECK(strangers == 0);
  CHECK(calls == 32);
  CHECK_THROWS_AS(context.parallel_for(8, 1,
                                       [&](std::int64_t, std::int64_t) {
                                         context.parallel_for(8, 1, [](std::int64_t i, std::int64_t) {
                                           if (i == 5) throw Error("inner");
                                         });
                                       }),
                  Error);
}

TEST_CASE("parallel_for: an interrupt is called on the thread that begins a loop, and can end it by an exception" *
          doctest::test_suite("threads")) {
  Context context;
  for (int threads : {1, 4}) {
    context.set_threads(threads);
    const auto own_thread = std::this_thread::get_id();
    int interrupts = 0, strangers = 0;
    context.set_interrupt([&] {
      ++interrupts;
      strangers += std::this_thread::get_id() != own_thread;
    });
    std::atomic<int> pieces{0};
    const auto loop = [&] { context.parallel_for(8, 1, [&](std::int64_t, std::int64_t) { ++pieces; }); };
    loop();
    CHECK(interrupts == 1);
    context.parallel_region([&] {
      loop();
      loop();
    });
    CHECK(interrupts == 3);
    context.parallel_for(0, 1, [&](std::int64_t, std::int64_t) { ++pieces; });
    CHECK(interrupts == 3);
    CHECK(pieces == 24);
    context.parallel_for(8, 1, [&](std::int64_t, std::int64_t) { loop(); });
    CHECK(pieces == 24 + 64);
    CHECK(strangers == 0);
    context.set_interrupt([] { throw std::out_of_range("no longer needed"); });
    CHECK_THROWS_AS(loop(), std::out_of_range);
    CHECK_THROWS_AS(context.parallel_region(loop), std::out_of_range);
    CHECK(pieces == 24 + 64);
    context.set_interrupt({});
    loop();
    CHECK(pieces == 24 + 64 + 8);
  }
}

TEST_CASE("parallel_for: a body's current context is the one that runs the loop" * doctest::test_suite("threads")) {
  Context context, other;
  for (int threads : {1, 4}) {
    context.set_threads(threads);
    std::atomic<int> wrong{0};
    const ContextScope scope(other);
    context.parallel_for(32, 1, [&](std::int64_t, std::int64_t) { wrong += &Context::current() != &context; });
    CHECK(wrong == 0);
    CHECK(&Context::current() == &other);
  }
}

TEST_CASE("parallel_for: scratch memory is aligned, separate for each thread, and released" *
          doctest::test_suite("threads")) {
  Context context;
  for (int threads : {1, 3}) {
    context.set_threads(threads);
    for (std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1000}}) {
      std::atomic<int> wrong{0};
      context.parallel_for(200, 1, bytes, [&](std::int64_t begin, std::int64_t, void* scratch) {
        if (reinterpret_cast<std::uintptr_t>(scratch) % 64 != 0) ++wrong;
        auto* own = static_cast<unsigned char*>(scratch);
        const auto mark = static_cast<unsigned char>(begin);
        std::fill(own, own + bytes, mark);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        if (std::count(own, own + bytes, mark) != static_cast<std::ptrdiff_t>(bytes)) ++wrong;
      });
      CHECK(wrong == 0);
      CHECK(context.memory().use().current == 0);
    }
    CHECK_THROWS_AS(context.parallel_for(2, 1, 64, [](std::int64_t, std::int64_t, void*) { throw Error("x"); }), Error);
    CHECK(context.memory().use().current == 0);
    CHECK_THROWS_AS(context.parallel_for(2, 1, std::size_t{1} << 60, [](std::int64_t, std::int64_t, void*) {}), Error);
    for (std::size_t bytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX / 2})  // overflows to 0 bytes if unchecked
      CHECK_THROWS_AS(context.parallel_for(3, 1, bytes, [](std::int64_t, std::int64_t, void*) { CHECK(false); }),
                      Error);
  }
}

TEST_CASE("context: settings out of range are errors" * doctest::test_suite("threads")) {
  Context context;
  CHECK(context.threads() >= 1);
  for (int threads : {0, -1, 1025}) CHECK_THROWS_AS(context.set_threads(threads), Error);
  context.set_threads(1024);
  CHECK(context.threads() == 1024);
}

TEST_CASE("context: WEFT_ISA limits the instruction set" * doctest::test_suite("threads")) {
  REQUIRE_FALSE(available_isas().empty());
  for (Isa isa : available_isas()) {
    const IsaCap cap(isa_name(isa));
    CHECK(best_isa() == isa);
    CHECK(Context().isa() == isa);
  }
  const IsaCap cap("avx1024");
  CHECK_THROWS_WITH_AS(best_isa(), doctest::Contains("avx1024"), Error);
  CHECK_THROWS_AS(Context(), Error);
}

TEST_CASE("context: each thread has its own current context, and a scope can replace it" *
          doctest::test_suite("threads")) {
  Context& own = Context::current();
  CHECK(&own == &Context::current());
  Context a, b;
  {
    const ContextScope outer(a);
    CHECK(&Context::current() == &a);
    {
      const ContextScope inner(b);
      CHECK(&Context::current() == &b);
    }
    CHECK(&Context::current() == &a);
    std::thread([&] {
      CHECK(&Context::current() != &a);
      CHECK(&Context::current() != &own);
    }).join();
  }
  CHECK(&Context::current() == &own);
}

TEST_CASE("context: two contexts on two threads do not affect each other" * doctest::test_suite("threads")) {
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t t = 0; t < 2; ++t) {
    contexts.push_back(std::make_unique<Context>());
    contexts[t]->set_threads(2);
    threads.emplace_back([&, context = contexts[t].get(), t] {
      const ContextScope scope(*context);
      for (int i = 0; i < 100; ++i) {
        Tensor x = Tensor::full({40000 + 1000 * static_cast<std::int64_t>(t)}, i);
        const Tensor sum = raw::convert(x, DType::f64);
        if (sum.data<double>()[39999] != i) ++wrong;
        const MemoryUse use = context->memory().use();
        if (use.current == 0 || use.peak > 2'000'000) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  for (const auto& context : contexts) {
    CHECK(context->memory().use().current == 0);
    CHECK(context->memory().use().system_allocations == 2);
  }
}

TEST_CASE("context: tensors outlive their context, and any thread can free them" * doctest::test_suite("threads")) {
  Tensor x;
  {
    Context context;
    const ContextScope scope(context);
    x = Tensor::full({1000}, 3);
    std::thread([y = std::move(x)]() mutable { y = Tensor(); }).join();
    CHECK(context.memory().use().current == 0);
    x = Tensor::full({1000}, 4);
  }
  CHECK(x.data<float>()[999] == 4);
}

TEST_CASE("context: log and slots" * doctest::test_suite("threads")) {
  struct Cache {
    int value = 0;
  };
  struct Other {
    int value = 5;
  };
  Context a, b;
  a.slot<Cache>().value = 7;
  CHECK(a.slot<Cache>().value == 7);
  CHECK(b.slot<Cache>().value == 0);
  CHECK(a.slot<Other>().value == 5);
  a.log("nobody listens");
  std::string lines;
  a.set_log([&](const std::string& line) { lines += line + ";"; });
  a.log("one");
  b.log("two");
  CHECK(lines == "one;");
}

TEST_CASE("memory: blocks are aligned, reused, limited and counted") {
  MemoryCache memory;
  for (std::size_t bytes : {0, 1, 255, 256, 257, 1000, 5000, 100000, 1 << 20}) {
    void* block = memory.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    CHECK(memory.use().current >= bytes);
    // Size classes are eighths of a power of two.
    CHECK(memory.use().current <= std::max<std::size_t>(256, bytes + bytes / 8 + 64));
    std::fill_n(static_cast<char*>(block), bytes, 'x');
    memory.release(block, bytes);
    const std::size_t allocations = memory.use().system_allocations;
    CHECK(memory.allocate(bytes) == block);
    CHECK(memory.use().system_allocations == allocations);
    memory.release(block, bytes);
    CHECK(memory.use().current == 0);
  }
  CHECK(memory.use().cached > 0);
  CHECK(memory.use().peak >= 1 << 20);
  memory.reset_peak();
  CHECK(memory.use().peak == 0);
  memory.release(memory.allocate(5000), 5000);  // reuses an existing block
  CHECK(memory.use().peak >= 5000);
  memory.trim();
  CHECK(memory.use().cached == 0);
  memory.set_cap(1000);
  memory.release(memory.allocate(512), 512);
  memory.release(memory.allocate(100000), 100000);
  CHECK(memory.use().cached == 512);
  memory.set_cap(0);
  CHECK(memory.use().cached == 0);
  CHECK_THROWS_AS(memory.allocate(std::size_t{1} << 50), Error);
  CHECK_THROWS_AS(memory.allocate(SIZE_MAX), Error);
  CHECK(memory.use().current == 0);
}

TEST_CASE("memory: at the limit the least recently used sizes are freed first") {
  MemoryCache memory;
  memory.set_cap(3000);
  const auto use = [&](std::size_t bytes) { memory.release(memory.allocate(bytes), bytes); };
  const auto is_cached = [&](std::size_t bytes) {
    const std::size_t before = memory.use().system_allocations;
    use(bytes);
    return memory.use().system_allocations == before;
  };
  use(1024);
  use(1792);
  CHECK(is_cached(1024));
  use(512);
  CHECK(memory.use().cached == 1024 + 512);
  CHECK(is_cached(1024));
  CHECK(is_cached(512));
  CHECK_FALSE(is_cached(1792));
}

TEST_CASE("memory: a cache serves several threads" * doctest::test_suite("threads")) {
  MemoryCache memory;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const std::size_t bytes = 100 + static_cast<std::size_t>(i % 7) * 300;
        auto* block = static_cast<unsigned char*>(memory.allocate(bytes));
        std::fill_n(block, bytes, static_cast<unsigned char>(t));
        if (std::count(block, block + bytes, t) != static_cast<std::ptrdiff_t>(bytes)) ++wrong;
        memory.release(block, bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(memory.use().current == 0);
}
