// weft-bench: microbenchmarks that compare weft's kernels with those of FFTW and oneDNN.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "machine/isa_cap.h"
#include "machine/machine.h"
#include "operations/family.h"
#include "operations/table_reporter.h"
#include "weft/context.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

constexpr const char* usage =
    R"(usage: weft-bench [--threads T] [--isa NAME] [--json FILE] [Google Benchmark's own flags]
  Prints medians and spread (cv: standard deviation / mean) of interleaved repetitions with 1 and with T threads.
  Measures weft, a peer (FFTW, oneDNN, or simpler work of weft) and the FMA peak alternately. ratio: time of the peer /
  time of weft in the same round.
  FLOP/s are nominal for the plain form of each operation: 5 n log2 n for a complex transform, 2.5 n log2 n for a real
  one, and 2 m n k for a dense product.
  --threads T               default: all threads that this process may use
  --isa NAME                sse2, avx2, ...: runs as if the CPU had no better instruction set. This caps weft, the
                            limits, oneDNN and the C library, but not FFTW. Default: the CPU's best one
  --json FILE               writes everything, including each repetition
  limit %: time of the limit / time of the work. The limit is a copy of the same number of bytes with ordinary stores.
  For products of few rows, it is the slower of the multiply-adds and reading the weights.
  cycles: cycles per element, derived from the FMA peak.
  --benchmark_filter=REGEX  matches names KIND/SIZE/threads:T; kinds: fma copy c2c c2c-f64 r2c c2r
                            c2c-columns toeplitz-cached toeplitz toeplitz-train toeplitz-naive toeplitz-matrix
                            circulant mix mix-train gemm-nn gemm-nt gemm-tn gemm-nt-cold linear linear-gelu linear-gelu-train
                            einsum; exp tanh erf … gelu silu … (in cache), layer-norm rms-norm softmax
                            cross-entropy array-gelu array-silu add mul gate glu adamw …, each also with -backward
  --benchmark_repetitions=N (each takes 20 ms or one call), --benchmark_list_tests
  ran: the most demanding instruction set to which at least a twentieth of the vector instructions belong, for weft and
  then for the peer. Samples of one thread show this. "not capped": beyond the instruction set of --isa.
examples: weft-bench --benchmark_filter=c2c/64x1024/ --json fft.json
          weft-bench --isa avx2 --benchmark_filter=gemm-nn
)";

// Returns the flags for Google Benchmark. Our defaults come first, so that the user's flags override them. --json FILE
// is replaced by two of its flags.
std::vector<std::string> benchmark_flags(int argc, char** argv, int& threads, std::string& isa) {
  std::vector<std::string> flags = {argv[0], "--benchmark_enable_random_interleaving=true",
                                    "--benchmark_repetitions=9"};
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if ((flag == "--threads" || flag == "--json" || flag == "--isa") && i + 1 == argc)
      throw Error("[bench] " + flag + " needs a value");
    if (flag == "--threads") {
      threads = std::stoi(argv[++i]);
    } else if (flag == "--isa") {
      isa = argv[++i];
    } else if (flag == "--json") {
      flags.push_back(std::string("--benchmark_out=") + argv[++i]);
      flags.push_back("--benchmark_out_format=json");
    } else {
      flags.push_back(flag);
    }
  }
  return flags;
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
  int threads = Context::current().threads();
  std::string isa;
  std::vector<std::string> flags = benchmark_flags(argc, argv, threads, isa);
  cap_isa(isa, argv);
  std::vector<char*> arguments;
  for (std::string& flag : flags) arguments.push_back(flag.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data(), [] { std::fputs(usage, stdout); });
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  Context::current().set_threads(threads);
  add_machine(threads);
  add_dense(threads);
  add_fft(threads);
  add_toeplitz(threads);
  add_fourier_mix(threads);
  add_activation(threads);
  add_memory_bound(threads);
  describe_machine(threads);
  TableReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    return weft::bench::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
