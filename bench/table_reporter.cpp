#include "table_reporter.h"

#include <cstdio>

#include "family.h"
#include "machine.h"

namespace weft::bench {
namespace {

// Why a run failed, or null: Google Benchmark 1.8 renamed the members.
template <class Run>
auto failure(const Run& run, int) -> decltype(run.skip_message.c_str()) {
  return static_cast<bool>(run.skipped) ? run.skip_message.c_str() : nullptr;
}
template <class Run>
auto failure(const Run& run, long) -> decltype(run.error_message.c_str()) {
  return run.error_occurred ? run.error_message.c_str() : nullptr;
}

}  // namespace

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    const std::string& name = run.run_name.function_name;
    const char* why = failure(run, 0);
    if (why) std::printf("%s: %s\n", name.c_str(), why);
    if (why || run.run_type != Run::RT_Aggregate) continue;
    Result& result = results_[name];
    if (run.aggregate_name == "cv") result.spread = run.real_accumulated_time;
    if (run.aggregate_name != "median") continue;
    result.seconds = run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
    const auto counter = [&](const char* key) {
      const auto found = run.counters.find(key);
      return found == run.counters.end() ? 0.0 : found->second.value;
    };
    result.flops_rate = counter("FLOP/s");
    result.bytes_rate = counter("B/s");
    result.cycles = counter("cycles");
    result.copy = counter("copy");
    result.peak = counter("peak");
  }
}

void TableReporter::Finalize() {
  std::printf("%-22s %-26s %7s | %10s %6s %8s %6s %7s %6s %6s | %10s %6s %8s | %s\n", "kind", "size", "threads",
              "weft us", "cv %", "GFLOP/s", "peak %", "GB/s", "copy %", "cycles", "peer us", "cv %", "GFLOP/s", "ratio");
  for (const Entry& entry : entries()) {
    const auto found = results_.find(entry.name());
    if (entry.who != "weft" || found == results_.end()) continue;
    const Result& ours = found->second;
    std::printf("%-22s %-26s %7d | %10.1f %6.1f %8.1f %6.1f %7.1f %6.1f %6.2f |", entry.kind.c_str(),
                entry.label.c_str(), entry.threads, ours.seconds * 1e6, ours.spread * 100, ours.flops_rate * 1e-9,
                ours.peak * 100, ours.bytes_rate * 1e-9, ours.copy * 100,
                ours.cycles);
    for (const char* who : {"fftw", "onednn"}) {
      const auto peer = results_.find(Entry{entry.kind, who, entry.label, entry.threads}.name());
      if (peer != results_.end())
        std::printf(" %10.1f %6.1f %8.1f | %.2f %s", peer->second.seconds * 1e6, peer->second.spread * 100,
                    peer->second.flops_rate * 1e-9, peer->second.seconds / ours.seconds, who);
    }
    std::printf("\n");
  }
}

}  // namespace weft::bench
