// weft-case runs single cases for bench/operations/compare and bench/operations/einsum_compare.
#include <cstdio>
#include <sstream>
#include <string>

#include "machine/arguments.h"
#include "machine/isa_cap.h"
#include "machine/machine.h"
#include "machine/serve.h"
#include "machine/timing.h"
#include "operations/case_checks.h"
#include "weft/context.h"
#include "weft/error.h"

namespace {

using namespace weft;
using namespace weft::bench;

constexpr const char* requests =
    R"(Each line of standard input is a request. The program answers it with one line. If a request fails, the answer is
"error MESSAGE". The requests are:
  machine                       CPU | instruction set | FFTW's version or "none"
  case weft|fftw KIND B N D C   prepares work (C: 1 causal, 0 not): "ok FLOPS BYTES", or "none" if unsupported
  run                           seconds per call
  ran                           JSON with the number of samples of each kind of instructions
  error KIND N                  relative L2 errors of a transform by weft and by FFTW
  memory B N D C                extra bytes of a Toeplitz product: forward, forward + backward

)";

struct Options : CommonOptions {
  double min_time = 0.005;
};

Sizes read_sizes(std::istream& in) {
  Sizes s;
  if (!(in >> s.b >> s.n >> s.d >> s.causal)) throw Error("[bench] expected B N D C");
  return s;
}

std::string format(const char* pattern, double a, double b = 0) {
  char text[80];
  std::snprintf(text, sizeof text, pattern, a, b);
  return text;
}

std::string make_case(std::istream& in, const Options& options, Work& work) {
  std::string who, kind;
  in >> who >> kind;
  const Sizes s = read_sizes(in);
  work = {};
  work = who == "fftw" ? fftw_work(kind, s, options.threads) : weft_work(kind, s, options.threads);
  if (!work.run) return "none";
  work.run();
  return format("ok %.0f %.0f", work.flops, work.bytes);
}

std::string answer(const std::string& line, const Options& options, Work& work) {
  std::istringstream in(line);
  std::string request;
  in >> request;
  if (request == "machine")
    return cpu_name() + " | " + isa_name(Context::current().isa()) + " | " +
           (fftw_version().empty() ? "none" : fftw_version());
  if (request == "case") return make_case(in, options, work);
  if (request == "run") {
    if (!work.run) throw Error("[bench] run before case");
    return format("%.9g", seconds_per_call(work.run, options.min_time));
  }
  if (request == "ran") {
    if (!work.run) throw Error("[bench] ran before case");
    return counts(sample(work.run, 0.1)).dump();
  }
  if (request == "error") {
    std::string kind;
    std::int64_t n = 0;
    in >> kind >> n;
    const Errors e = transform_errors(kind, n);
    return format("%.6g %.6g", e.weft, e.fftw);
  }
  if (request == "memory") {
    const ExtraMemory m = toeplitz_memory(read_sizes(in), options.threads);
    return std::to_string(m.forward) + " " + std::to_string(m.train);
  }
  throw Error("[bench] unknown request: " + line);
}

int run(int argc, char** argv) {
  CLI::App app("Runs single cases for bench/operations/compare and bench/operations/einsum_compare.", "weft-case");
  Options options;
  options.threads = 1;
  add_common_options(app, options);
  app.add_option("--min-time", options.min_time, "Seconds of a timed run")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.footer([] { return std::string(requests) + kinds_text(); });
  if (const auto code = parse(app, argc, argv)) return *code;
  cap_isa(options.isa, argv);
  Work work;
  serve([&](const std::string& line) { return answer(line, options, work); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return main_of("weft-case", run, argc, argv); }
