#include "family.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <set>

namespace weft::bench {
namespace {

std::vector<Entry>& registered() {
  static std::vector<Entry> all;
  return all;
}

void add_one(const Entry& entry, const Sizes& sizes) {
  registered().push_back(entry);
  const auto work = std::make_shared<Work>();
  benchmark::RegisterBenchmark(entry.name().c_str(), [=](benchmark::State& state) {
    if (!work->run) {
      *work = entry.who == "weft" ? weft_work(entry.kind, sizes, entry.threads)
                                  : fftw_work(entry.kind, sizes, entry.threads);
      if (!work->run) return state.SkipWithError("FFTW has no such plan");
      work->run();  // grows caches
    }
    for (auto _ : state) work->run();
    using benchmark::Counter;
    if (work->flops > 0) state.counters["FLOP/s"] = Counter(work->flops, Counter::kIsIterationInvariantRate);
    if (work->bytes > 0) state.counters["B/s"] = Counter(work->bytes, Counter::kIsIterationInvariantRate);
  })->UseRealTime();
}

}  // namespace

const std::vector<Entry>& entries() { return registered(); }

void add_benchmarks(const std::string& kind, const Sizes& sizes, const std::string& label, int threads) {
  static const std::set<std::string> fftw_kinds = {"c2c", "r2c", "c2r", "lanes", "toeplitz-cached"};
  for (const int t : std::set<int>{1, threads}) {
    add_one({kind, "weft", label, t}, sizes);
    if (!fftw_version().empty() && fftw_kinds.count(kind) != 0) add_one({kind, "fftw", label, t}, sizes);
  }
}

}  // namespace weft::bench
