// weft-bench: microbenchmarks that compare weft's kernels with those of FFTW and oneDNN.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "machine/arguments.h"
#include "machine/isa_cap.h"
#include "machine/machine.h"
#include "operations/family.h"
#include "operations/table_reporter.h"
#include "weft/context.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

constexpr const char* footer =
    R"(Prints medians and spread (cv: standard deviation / mean) of interleaved repetitions with 1 and with T threads.
Measures weft, a peer (FFTW, oneDNN, or simpler work of weft) and the FMA peak alternately. ratio: time of the peer /
time of weft in the same round.
FLOP/s are nominal for the plain form of each operation: 5 n log2 n for a complex transform, 2.5 n log2 n for a real
one, and 2 m n k for a dense product.
limit %: time of the limit / time of the work. The limit is a copy of the same number of bytes with ordinary stores.
For products of few rows, it is the slower of the multiply-adds and reading the weights.
cycles: cycles per element, derived from the FMA peak.
--benchmark_filter=REGEX  matches names KIND/SIZE/threads:T
--benchmark_repetitions=N (each takes 20 ms or one call), --benchmark_list_tests
ran: the most demanding instruction set to which at least a twentieth of the vector instructions belong, for weft and
then for the peer. Samples of one thread show this. "not capped": beyond the instruction set of --isa.
examples: weft-bench --benchmark_filter=c2c/64x1024/ --json fft.json
          weft-bench --isa avx2 --benchmark_filter=gemm-nn
)";

struct Options : CommonOptions {
  std::string json;
};

void add_families(int threads) {
  for (const auto add :
       {add_machine, add_dense, add_fft, add_toeplitz, add_fourier_mix, add_activation, add_memory_bound})
    add(threads);
}

// Describes the kinds of kinds.cpp, and lists the kinds that only weft-bench has.
std::string help_footer() {
  add_families(1);
  std::string text =
      std::string(footer) + kinds_text() + "Work on whole arrays, and vector functions on data in the cache:\n";
  std::set<std::string> listed;
  std::size_t column = 0;
  for (const Entry& entry : entries()) {
    if (is_kind(entry.kind) || !listed.insert(entry.kind).second) continue;
    const bool is_new_line = column == 0 || column + entry.kind.size() >= 100;
    text += (is_new_line ? (column == 0 ? "  " : "\n  ") : " ") + entry.kind;
    column = (is_new_line ? 2 : column + 1) + entry.kind.size();
  }
  return text + "\n";
}

// Measures the machine, prints the limits in one line and adds them to the JSON.
void describe_machine(int threads) {
  std::string line = cpu_name() + ", " + isa_name(Context::current().isa());
  benchmark::AddCustomContext("cpu", cpu_name());
  benchmark::AddCustomContext("isa", isa_name(Context::current().isa()));
  for (const int t : std::set<int>{1, threads}) {
    char text[80];
    std::snprintf(text, sizeof text, "FMA peak %.0f GFLOP/s, copy %.1f GB/s", limits(t).fma_gflops, limits(t).copy_gbs);
    benchmark::AddCustomContext("threads_" + std::to_string(t), text);
    line += "; " + std::to_string(t) + (t == 1 ? " thread: " : " threads: ") + text;
  }
  if (!fftw_version().empty()) line += "; " + fftw_version() + ", which cannot be capped";
  if (!onednn_version().empty()) line += "; oneDNN " + onednn_version() + " " + onednn_isa();
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  CLI::App app("Compares weft's kernels with those of FFTW and oneDNN.", "weft-bench");
  Options o;
  add_common_options(app, o);
  app.add_option("--json", o.json, "Write everything to this file, including each repetition")->type_name("FILE");
  app.allow_extras();
  app.footer(help_footer);
  if (const auto code = parse(app, argc, argv)) return *code;
  cap_isa(o.isa, argv);
  // The defaults of Google Benchmark's flags come first, so that the user's flags override them.
  std::vector<std::string> flags = {argv[0], "--benchmark_enable_random_interleaving=true",
                                    "--benchmark_repetitions=9"};
  if (!o.json.empty()) flags.insert(flags.end(), {"--benchmark_out=" + o.json, "--benchmark_out_format=json"});
  for (const std::string& flag : app.remaining()) flags.push_back(flag);
  std::vector<char*> arguments;
  for (std::string& flag : flags) arguments.push_back(flag.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  Context::current().set_threads(o.threads);
  add_families(o.threads);
  describe_machine(o.threads);
  TableReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::main_of("weft-bench", weft::bench::run, argc, argv); }
