#include "machine/machine.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "machine/fma_loop.h"
#include "machine/timing.h"
#include "weft/context.h"

namespace weft::bench {
using namespace detail;
namespace {

std::atomic<float> sink;

double best_seconds(const Work& w, double min_seconds) {
  double seconds = 1e30;
  for (int i = 0; i < 5; ++i) seconds = std::min(seconds, seconds_per_call(w.run, min_seconds));
  return seconds;
}

}  // namespace

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::int64_t last_level_cache() {
  std::int64_t kib = 0;
  for (int i = 0; i < 8; ++i)
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size") >> kib;
  return kib << 10;
}

Work fma_work(int threads) {
  constexpr long iterations = 200000;
  const FmaLoop loop = kernels<FmaLoop>();
  Work w;
  w.flops = static_cast<double>(iterations) * loop.flops * threads;
  w.run = [=] {
    Context::current().set_threads(threads);
    Context::current().parallel_for(threads, 1, [&](std::int64_t, std::int64_t) {
      sink.store(loop.run(iterations, 0.999f, 0.001f), std::memory_order_relaxed);
    });
  };
  return w;
}

Work read_work(std::function<const float*()> next, std::int64_t n, int threads) {
  const auto read = kernels<FmaLoop>().read;
  Work w;
  w.bytes = 4.0 * static_cast<double>(n);
  w.run = [=] {
    const float* from = next();
    Context::current().set_threads(threads);
    Context::current().parallel_for(n, (n - 1) / threads + 1, [&](std::int64_t begin, std::int64_t end) {
      sink.store(read(from + begin, end - begin), std::memory_order_relaxed);
    });
  };
  return w;
}

Work copy_work(std::int64_t bytes, int threads) {
  const auto size = static_cast<std::size_t>(bytes);
  const auto from = std::make_shared<std::vector<char>>(size, char{1}), to = std::make_shared<std::vector<char>>(size);
  Work w;
  w.bytes = 2.0 * static_cast<double>(bytes);
  w.run = [=] {
    Context::current().set_threads(threads);
    Context::current().parallel_for(bytes, (bytes - 1) / threads + 1, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to->data() + begin, from->data() + begin, static_cast<std::size_t>(end - begin));
    });
  };
  return w;
}

const Limits& limits(int threads) {
  static std::map<int, Limits> known;
  const auto found = known.find(threads);
  if (found != known.end()) return found->second;
  const Work fma = fma_work(threads), copy = copy_work(copy_bytes, threads);
  return known[threads] = {fma.flops / best_seconds(fma, 0.02) * 1e-9, copy.bytes / best_seconds(copy, 0.02) * 1e-9};
}

double flops_a_cycle() { return 4.0 * kernels<FmaLoop>().lanes; }

double plain_copy_seconds(double bytes, int threads) {
  static std::vector<float> from, to;
  const auto n = static_cast<std::int64_t>(bytes / 8);
  if (static_cast<std::int64_t>(from.size()) < n) {
    from.assign(static_cast<std::size_t>(n), 1.0f);
    to.assign(static_cast<std::size_t>(n), 0.0f);
  }
  const auto copy = kernels<FmaLoop>().copy;
  Context::current().set_threads(threads);
  return seconds_per_call(
      [&] {
        Context::current().parallel_for(n, (n - 1) / threads + 1, [&](std::int64_t begin, std::int64_t end) {
          copy(from.data() + begin, to.data() + begin, end - begin);
        });
      },
      0.02);
}

}  // namespace weft::bench
