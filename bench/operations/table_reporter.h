// Prints one line for each case, with the medians and spread of weft and its peer.
#pragma once
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace weft::bench {

class TableReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  struct Result {
    double seconds = 0, flops_rate = 0, bytes_rate = 0, cycles = 0, limit = 0, peak = 0, rival = 0,
           ratio = 0;   // medians
    double spread = 0;  // standard deviation over mean
    std::string ran;
  };
  std::map<std::string, Result> results_;
};

}  // namespace weft::bench
