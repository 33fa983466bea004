#include "operations/family.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "machine/machine.h"
#include "machine/sampled.h"
#include "machine/timing.h"

namespace weft::bench {
namespace {

using benchmark::Counter;
using benchmark::State;

std::vector<Entry>& registered() {
  static std::vector<Entry> all;
  return all;
}

constexpr double repetition_seconds = 0.02;

// Calls round() until the sum of the seconds that it returns is long enough for a repetition.
template <class F>
void repeat_rounds(F round) {
  for (double seconds = 0; seconds < repetition_seconds;) seconds += round();
}

// Repeats a call for half a millisecond. An untimed call before it brings the data back into cache.
class Burst {
 public:
  explicit Burst(std::function<void()> run) : run_(std::move(run)) {
    if (run_) calls_ = static_cast<long>(5e-4 / seconds_per_call(run_, 5e-4)) + 1;
  }
  // Seconds per call; 0 if there is no call.
  double seconds() const {
    if (!run_) return 0;
    run_();
    return seconds_of(run_, calls_);
  }

 private:
  std::function<void()> run_;
  long calls_ = 0;
};

// Each round runs the multiply-adds, the reading, the work and the peer one after the other. If the speed of the
// machine changes for longer than a round, it changes for all of them. The counter "limit" is the time of the
// multiply-adds or of the reading, whichever is longer, divided by the time of the work. The counter "cycles" is the
// number of cycles per element, assuming that each of two FMA units processes one vector per cycle.
void time_in_turn(State& state, const Work& work, const Work& rival, const Work& fma) {
  const Burst fma_burst(fma.run), read(work.read), ours(work.run), theirs(rival.run);
  std::vector<double> own_seconds, rival_seconds, ratios, peaks, limits, cycles;
  repeat_rounds([&] {
    const double flop_seconds = fma_burst.seconds() / fma.flops, fma_seconds = flop_seconds * work.flops;
    const double read_seconds = read.seconds(), seconds = ours.seconds();
    rival_seconds.push_back(theirs.seconds());
    ratios.push_back(rival_seconds.back() / seconds);
    peaks.push_back(fma_seconds / seconds);
    limits.push_back(std::max(fma_seconds, read_seconds) / seconds);
    cycles.push_back(seconds / (flop_seconds * flops_a_cycle()));
    own_seconds.push_back(seconds);
    return seconds + std::max(rival_seconds.back(), 1e-3);
  });
  for (auto _ : state) state.SetIterationTime(median_of(own_seconds));
  if (work.elements > 0) state.counters["cycles"] = median_of(cycles) / work.elements;
  if (work.flops == 0) return;
  state.counters["rival"] = median_of(rival_seconds);
  state.counters["ratio"] = median_of(ratios);
  state.counters["peak"] = median_of(peaks);
  state.counters["limit"] = median_of(limits);
}

void count_rate(State& state, const char* name, double amount) {
  if (amount > 0) state.counters[name] = Counter(amount, Counter::kIsIterationInvariantRate);
}

// Times work that has no peer, right after measuring the machine. The counter "limit" is the time of copying the same
// number of bytes with ordinary stores, divided by the time of the work. The counter "peak" is the time of the same
// number of multiply-adds, divided by the time of the work.
void time_alone(State& state, const Work& work, const Work& fma, int threads) {
  const double copy = work.memory_bound ? plain_copy_seconds(work.bytes, threads) : 0;
  const double fma_seconds = work.flops > 0 ? work.flops / fma.flops * seconds_per_call(fma.run, 0.01) : 0;
  const auto seconds = [&] {
    if (work.before) work.before();
    return seconds_of(work.run, 1);
  };
  seconds();  // fills the caches, because other work may have evicted the data
  std::vector<double> own_seconds;
  repeat_rounds([&] { return own_seconds.emplace_back(seconds()); });
  for (auto _ : state) state.SetIterationTime(median_of(own_seconds));
  count_rate(state, "limit", copy);
  count_rate(state, "peak", fma_seconds);
}

struct Made {
  Work work, rival;
  std::string ran;  // for example "avx2, peer sse"
};

// The instruction sets that weft and the peer used, as samples show.
std::string what_ran(const Work& work, const Work& rival) {
  const auto one = [](const Work& w) {
    const auto run = [&w] {
      if (w.before) w.before();
      w.run();
    };
    const Samples samples = sample(run, repetition_seconds);
    return ran(samples) + (is_beyond(samples) ? " (not capped)" : "");
  };
  return one(work) + (rival.run ? ", peer " + one(rival) : "");
}

void run_benchmark(State& state, const Entry& entry, Made& made, const std::function<Work()>& make,
                   const std::function<Work(int)>& make_rival) {
  if (!made.work.run) made.work = make();
  if (!entry.rival.empty() && !made.rival.run) made.rival = make_rival(entry.threads);
  const Work fma = made.work.peak == Peak::bf16   ? bf16_peak_work(entry.threads)
                   : made.work.peak == Peak::int8 ? int8_peak_work(entry.threads)
                                                  : fma_work(entry.threads);
  if (made.rival.run || made.work.read || made.work.elements > 0) time_in_turn(state, made.work, made.rival, fma);
  else time_alone(state, made.work, fma, entry.threads);
  if (made.ran.empty()) made.ran = what_ran(made.work, made.rival);
  state.SetLabel(made.ran);
  count_rate(state, "FLOP/s", made.work.flops);
  count_rate(state, "B/s", made.work.bytes);
}

void add_one(const Entry& entry, const std::function<Work()>& make, const std::function<Work(int)>& make_rival) {
  registered().push_back(entry);
  const auto made = std::make_shared<Made>();
  benchmark::RegisterBenchmark(entry.name().c_str(),
                               [=](State& state) { run_benchmark(state, entry, *made, make, make_rival); })
      ->UseManualTime()
      ->Iterations(1);
}

// FFTW or oneDNN, or a Rival without a name if neither is available for this kind of work.
Rival peer_of(const std::string& kind, const Sizes& sizes) {
  static const std::set<std::string> fftw_kinds = {"c2c", "r2c", "c2r", "c2c-columns", "toeplitz-cached"};
  if (fftw_kinds.count(kind) != 0 && !fftw_version().empty())
    return {"fftw", [=](int threads) { return fftw_work(kind, sizes, threads); }};
  if ((kind.rfind("gemm-", 0) == 0 || kind == "linear") && !onednn_version().empty())
    return {"onednn", [=](int threads) { return onednn_work(kind, sizes, threads); }};
  return {};
}

}  // namespace

const std::vector<Entry>& entries() { return registered(); }

void add_work(const std::string& kind, const std::string& label, int threads, const std::function<Work()>& make) {
  add_one({kind, label, threads, ""}, make, {});
}

void add_benchmarks(const std::string& kind, const Sizes& sizes, const std::string& label, int threads,
                    std::optional<Rival> given) {
  const Rival rival = given ? *given : peer_of(kind, sizes);
  const std::string family = kind.substr(0, kind.find(':'));
  for (const int t : std::set<int>{1, threads})
    add_one(
        {family, label, t, rival.name}, [=] { return weft_work(kind, sizes, t); }, rival.make);
}

}  // namespace weft::bench
