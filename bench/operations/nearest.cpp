// weft-nearest-bench: times the search for the nearest of many vectors and compares it with reading the vectors' bytes.
#include <weft/context.h>
#include <weft/embed.h>
#include <weft/error.h>
#include <weft/random.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "machine/arguments.h"
#include "machine/isa_cap.h"
#include "machine/machine.h"
#include "machine/timing.h"

namespace weft::bench {
namespace {

struct Options : CommonOptions {
  std::int64_t vectors = 1000000, dimensions = 128, repeat = 15;
};

void report(const Options& o, DType dtype) {
  const Tensor vectors = raw::convert(Random(1).uniform({o.vectors, o.dimensions}, -1, 1, DType::f32), dtype),
               query = Random(2).uniform({o.dimensions}, -1, 1, DType::f32);
  const double bytes = static_cast<double>(vectors.numel()) * static_cast<double>(dtype_size(dtype));
  const Work read = read_work([&] { return static_cast<const float*>(vectors.raw()); },
                              static_cast<std::int64_t>(bytes / sizeof(float)), o.threads);
  std::vector<double> search_times, read_times;               // ms
  for (std::int64_t round = 0; round <= o.repeat; ++round) {  // the first round does not count
    const double search = 1e3 * seconds_of([&] { (void)nearest(vectors, query, 10); }, 1);
    const double reading = 1e3 * seconds_of(read.run, 1);
    if (round == 0) continue;
    search_times.push_back(search);
    read_times.push_back(reading);
  }
  const double search = median_of(search_times), reading = median_of(read_times);
  std::printf(
      "%s: the search in %ld vectors of %ld numbers takes %.1f ms; reading %.0f MB at %.1f GB/s takes %.1f ms; "
      "ratio %.2f\n",
      dtype_name(dtype), static_cast<long>(o.vectors), static_cast<long>(o.dimensions), search, bytes * 1e-6,
      bytes / reading * 1e-6, reading, search / reading);
}

int run(int argc, char** argv) {
  CLI::App app("Times the search for the nearest of many vectors.", "weft-nearest-bench");
  Options o;
  app.add_option("--vectors", o.vectors, "Number of vectors")->capture_default_str()->check(CLI::Range(1, 100000000));
  app.add_option("--dimensions", o.dimensions, "Numbers in a vector")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  add_common_options(app, o);
  app.add_option("--repeat", o.repeat, "Number of timed rounds, after an untimed one")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.footer(
      "Prints the median time of a search for the 10 nearest vectors, in f32 and bf16, and its ratio to the time of a\n"
      "loop that reads as many bytes with the same threads in the same run.\n"
      "Example:\n"
      "  weft-nearest-bench --vectors 1000000 --dimensions 128 --isa avx2");
  if (const auto code = parse(app, argc, argv)) return *code;
  cap_isa(o.isa, argv);
  Context::current().set_threads(o.threads);
  std::printf("%s, %s, %d threads\n", cpu_name().c_str(), isa_name(Context::current().isa()), o.threads);
  for (const DType dtype : {DType::f32, DType::bf16}) report(o, dtype);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::main_of("weft-nearest-bench", weft::bench::run, argc, argv); }
