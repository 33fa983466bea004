#include "family.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <set>

#include "machine.h"
#include "timing.h"

namespace weft::bench {
namespace {

using benchmark::Counter;

std::vector<Entry>& registered() {
  static std::vector<Entry> all;
  return all;
}

void run_once(const Work& work) {
  if (work.before) work.before();
  work.run();
}

void time_work(benchmark::State& state, const Work& work) {
  for (auto _ : state) {
    if (work.before) {
      state.PauseTiming();
      work.before();
      state.ResumeTiming();
    }
    work.run();
  }
}

// What is known of the machine just before a repetition; 0 where it doesn't matter.
struct Now {
  double copy_seconds, cycles_per_second, fma_per_second;
};

void count(benchmark::State& state, const Work& work, const Now& now) {
  const auto rate = [&](const char* name, double amount) {
    if (amount > 0) state.counters[name] = Counter(amount, Counter::kIsIterationInvariantRate);
  };
  rate("FLOP/s", work.flops);
  rate("B/s", work.bytes);
  rate("copy", now.copy_seconds);
  if (now.fma_per_second > 0) rate("peak", work.flops / now.fma_per_second);
  if (work.elements > 0)
    state.counters["cycles"] = Counter(work.elements / now.cycles_per_second,
                                       Counter::kIsIterationInvariantRate | Counter::kInvert);
}

double fma_peak(int threads) {
  const Work fma = fma_work(threads);
  return fma.flops / seconds_per_call(fma.run, 0.01);
}

// The work is made when first run and kept.
void add_one(const Entry& entry, const std::function<Work()>& make) {
  registered().push_back(entry);
  const auto work = std::make_shared<Work>();
  benchmark::RegisterBenchmark(entry.name().c_str(), [=](benchmark::State& state) {
    if (!work->run) {
      *work = make();
      if (!work->run) return state.SkipWithError((entry.who + " has no such work").c_str());
    }
    const Now now = {work->memory_bound ? plain_copy_seconds(work->bytes, entry.threads) : 0,
                     work->elements > 0 ? cycles_per_second() : 0, work->flops > 0 ? fma_peak(entry.threads) : 0};
    run_once(*work);  // grows caches, which others may have emptied
    time_work(state, *work);
    count(state, *work, now);
  })->UseRealTime();
}

// "" if this build has none for the kind.
std::string peer_of(const std::string& kind) {
  static const std::set<std::string> fftw_kinds = {"c2c", "r2c", "c2r", "lanes", "toeplitz-cached"};
  if (fftw_kinds.count(kind) != 0) return fftw_version().empty() ? "" : "fftw";
  const bool dense = kind.rfind("gemm-", 0) == 0 || kind.rfind("linear", 0) == 0;
  return dense && !onednn_version().empty() ? "onednn" : "";
}

}  // namespace

const std::vector<Entry>& entries() { return registered(); }

void add_work(const std::string& kind, const std::string& label, int threads, const std::function<Work()>& make) {
  add_one({kind, "weft", label, threads}, make);
}

void add_benchmarks(const std::string& kind, const Sizes& sizes, const std::string& label, int threads) {
  const std::string peer = peer_of(kind), family = kind.substr(0, kind.find(':'));
  for (const int t : std::set<int>{1, threads}) {
    add_work(family, label, t, [=] { return weft_work(kind, sizes, t); });
    if (!peer.empty())
      add_one({family, peer, label, t},
              [=] { return peer == "fftw" ? fftw_work(kind, sizes, t) : onednn_work(kind, sizes, t); });
  }
}

}  // namespace weft::bench
