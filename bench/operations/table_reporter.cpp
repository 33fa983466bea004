#include "operations/table_reporter.h"

#include <cstdio>

#include "machine/machine.h"
#include "operations/family.h"

namespace weft::bench {
namespace {

// Returns why a run failed, or null. There are two versions, because Google Benchmark 1.8 renamed the members.
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
    if (!why && run.run_type != Run::RT_Aggregate) results_[name].ran = run.report_label;
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
    result.limit = counter("limit");
    result.peak = counter("peak");
    result.rival = counter("rival");
    result.ratio = counter("ratio");
  }
}

void TableReporter::Finalize() {
  std::printf("%-22s %-26s %7s | %10s %6s %8s %6s %7s %7s %6s | %-28s | %10s %s\n", "kind", "size", "threads",
              "weft us", "cv %", "GFLOP/s", "peak %", "GB/s", "limit %", "cycles", "ran", "peer us", "ratio");
  for (const Entry& entry : entries()) {
    const auto found = results_.find(entry.name());
    if (found == results_.end()) continue;
    const Result& r = found->second;
    std::printf("%-22s %-26s %7d | %10.1f %6.1f %8.1f %6.1f %7.1f %7.1f %6.2f | %-28s |", entry.kind.c_str(),
                entry.label.c_str(), entry.threads, r.seconds * 1e6, r.spread * 100, r.flops_rate * 1e-9, r.peak * 100,
                r.bytes_rate * 1e-9, r.limit * 100, r.cycles, r.ran.c_str());
    if (!entry.rival.empty()) std::printf(" %10.1f %5.3f %s", r.rival * 1e6, r.ratio, entry.rival.c_str());
    std::printf("\n");
  }
}

}  // namespace weft::bench
