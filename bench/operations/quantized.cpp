// weft-quantized-bench: times matrix-vector products with weights in 8 and 4 bits, and compares them with llama.cpp's
// and with reading the bytes of the weights.
#include <weft/context.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/quantized.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <optional>

#include "machine/arguments.h"
#include "machine/isa_cap.h"
#include "machine/machine.h"
#include "machine/timing.h"
#include "operations/ggml_product.h"
#include "operations/kinds.h"

namespace weft::bench {
namespace {

struct Options : CommonOptions {
  std::int64_t rows = 4608, columns = 768, matrices = 32, repeat = 30;
};

// Several matrices, because a model has many and its weights don't fit into the caches.
struct Case {
  std::vector<Tensor> weights;  // f32 (rows, columns)
  Tensor x, exact;              // (columns), and the product (rows) of the first matrix and x
};

Case case_of(const Options& o) {
  Case c{{}, normal({o.columns}, 0), {}};
  for (std::int64_t i = 0; i < o.matrices; ++i) c.weights.push_back(normal({o.rows, o.columns}, 1 + i));
  c.exact = reshape(linear(reshape(c.x, {1, o.columns}), c.weights.front()), {o.rows});
  return c;
}

// ‖y - exact‖ / ‖exact‖
double relative_error(const Tensor& y, const Tensor& exact) {
  const std::vector<float> got = y.to_vector<float>(), want = exact.to_vector<float>();
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - static_cast<double>(want[i]), 2);
    size += std::pow(static_cast<double>(want[i]), 2);
  }
  return std::sqrt(difference / size);
}

// One contestant's times (s) for all matrices.
struct Contestant {
  const char* name;
  double bytes;
  std::function<void()> run;
  double error;
  std::vector<double> times = {};
};

void report(const Options& o, const Case& c, int bits) {
  std::vector<QuantizedWeight> weights;
  double bytes = 0;
  for (const Tensor& weight : c.weights) {
    weights.emplace_back(weight, bits);
    const Tensor values = bits == 8 ? weights.back().values() : weights.back().packed_values();
    const Tensor scales = weights.back().scales();
    bytes += static_cast<double>(values.numel()) +
             static_cast<double>(scales.numel()) * static_cast<double>(dtype_size(scales.dtype()));
  }
  const Tensor x = reshape(c.x, {1, o.columns});
  std::vector<Contestant> all{{bits == 8 ? "weft, int8" : "weft, int4", bytes,
                               [&] {
                                 for (const QuantizedWeight& weight : weights) (void)quantized_linear(x, weight);
                               },
                               relative_error(quantized_linear(x, weights.front()), c.exact)}};
  std::optional<GgmlProduct> peer;
  if (has_ggml()) {
    peer.emplace(c.weights, bits, o.threads);
    peer->run(c.x);
    all.push_back({bits == 8 ? "llama.cpp, Q8_0" : "llama.cpp, Q4_0", static_cast<double>(peer->bytes()),
                   [&] { peer->run(c.x); }, relative_error(peer->first(), c.exact)});
  }
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  const Tensor memory = Tensor::zeros({floats}, DType::f32);
  const Work read = read_work([&] { return memory.data<float>(); }, floats, o.threads);
  all.push_back({"reading weft's bytes", bytes, read.run, NAN});

  for (std::int64_t round = 0; round <= o.repeat; ++round)  // the first round does not count
    for (Contestant& each : all) {
      const double seconds = seconds_of(each.run, 1);
      if (round > 0) each.times.push_back(seconds);
    }
  for (const Contestant& each : all) {
    const double time = median_of(each.times) / static_cast<double>(o.matrices);
    std::printf("| %s | %.1f | %.1f |", each.name, 1e6 * time,
                each.bytes / static_cast<double>(o.matrices) / time * 1e-9);
    if (std::isnan(each.error)) std::printf(" |\n");
    else std::printf(" %.4f |\n", each.error);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Times matrix-vector products with weights in 8 and 4 bits.", "weft-quantized-bench");
  Options o;
  app.add_option("--rows", o.rows, "Rows of each matrix (outputs)")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--columns", o.columns, "Columns of each matrix (inputs), a multiple of 32")
      ->capture_default_str()
      ->check(CLI::Range(32, 1 << 20));
  app.add_option("--matrices", o.matrices, "Number of matrices that a round multiplies, one after the other")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  add_common_options(app, o);
  app.add_option("--repeat", o.repeat, "Number of timed rounds, after an untimed one")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.footer(
      "Prints the median time of a product, the bytes of the weights that it reads in a second, and the relative "
      "error\n"
      "of a result, compared with the f32 weights. llama.cpp is a peer if the program was built with its library ggml\n"
      "(cmake --preset bench -DCMAKE_PREFIX_PATH=FOLDER). --isa does not limit it. With LD_LIBRARY_PATH, you can load\n"
      "a ggml that was built for another instruction set.\n"
      "Example:\n"
      "  weft-quantized-bench --rows 4608 --columns 768 --threads 1");
  if (const auto code = parse(app, argc, argv)) return *code;
  if (o.columns % 32 != 0)
    throw Error("expected --columns that are a multiple of 32, got " + std::to_string(o.columns));
  cap_isa(o.isa, argv);
  Context::current().set_threads(o.threads);
  const NoGrad inference;
  std::printf("%s, %s, %d threads, %ld matrices of %ld x %ld\n\n", cpu_name().c_str(),
              isa_name(Context::current().isa()), o.threads, static_cast<long>(o.matrices), static_cast<long>(o.rows),
              static_cast<long>(o.columns));
  std::printf("| product | us | GB/s of weights | relative error |\n|---|---|---|---|\n");
  const Case c = case_of(o);
  for (const int bits : {8, 4}) report(o, c, bits);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::main_of("weft-quantized-bench", weft::bench::run, argc, argv); }
