// weft-golden: compares weft with conformance cases.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "golden.h"

namespace {

using namespace weft;

constexpr const char* usage =
    "usage: weft-golden [--dtype f64|f32] [--verbose] FILE...\n"
    "exit code: 0 every file passed; 1 one failed; 2 one can't be read or asks for what is unknown or refused\n";

struct Options {
  DType dtype = DType::f64;
  bool verbose = false;
  std::vector<std::string> files;
};

struct Comparison {
  bool ok = true;
  double max_error = 0;
  std::string where;  // position of the largest error
};

std::string position(std::int64_t flat, const Shape& shape) {
  std::string text = "]";
  for (std::size_t i = shape.size(); i-- > 0;) {
    text = (i ? "," : "") + std::to_string(flat % shape[i]) + text;
    flat /= shape[i];
  }
  return "[" + text;
}

// Returns complex tensors as real tensors with a last axis of size 2, all in f64.
Tensor as_pairs(const Tensor& x) {
  if (!is_complex(x.dtype())) return raw::convert(x, DType::f64);
  const auto values = raw::convert(x, DType::c128).to_vector<std::complex<double>>();
  Shape shape = x.shape();
  shape.push_back(2);
  std::vector<double> pairs;
  for (const auto& v : values) pairs.insert(pairs.end(), {v.real(), v.imag()});
  return Tensor::from(pairs, shape);
}

// Checks |got - want| <= rtol · max|want| + atol. NaN never passes.
Comparison compare(const Tensor& got_tensor, const Tensor& want_tensor, DType dtype) {
  const Tensor pairs = as_pairs(got_tensor);
  const Shape& shape = want_tensor.shape();
  if (pairs.shape() != shape)
    return {false, INFINITY, "shape " + to_string(pairs.shape()) + " expected " + to_string(shape)};
  const auto got = pairs.to_vector<double>(), want = raw::convert(want_tensor, DType::f64).to_vector<double>();
  double largest = 0;
  for (double w : want) largest = std::max(largest, std::abs(w));
  const double bound = dtype == DType::f64 ? 1e-10 * largest + 1e-12 : 2e-5 * largest + 1e-6;
  Comparison result;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    const double error = std::isnan(difference) ? INFINITY : difference;
    if (!(error <= bound)) result.ok = false;
    if (i == 0 || error > result.max_error) {
      char numbers[96];
      std::snprintf(numbers, sizeof numbers, ": got %.9g expected %.9g", got[i], want[i]);
      result.where = position(static_cast<std::int64_t>(i), shape) + numbers;
      result.max_error = error;
    }
  }
  return result;
}

struct Named {
  std::string name;
  Comparison comparison;
};

std::string only_output(const golden::Case& c) { return c.kind() == "optimizer" ? "out.params" : "out.y"; }

std::vector<Named> run(const std::string& path, DType dtype) {
  Tape tape;
  golden::Case c(path, dtype, tape);
  const auto runner = golden::kinds().find(c.kind());
  if (runner == golden::kinds().end()) throw golden::Refused("unknown kind \"" + c.kind() + "\"");
  const Tensor y = runner->second(c);
  c.check_all_used();
  const std::string out = only_output(c);
  std::vector<Named> results = {{out, compare(y, c.raw_tensor(out), dtype)}};
  if (c.kind() == "optimizer") return results;

  Tensor cotangent = raw::convert(c.raw_tensor("cot.y"), dtype);
  if (is_complex(y.dtype())) {
    const Shape shape(cotangent.shape().begin(), cotangent.shape().end() - 1);
    cotangent = complex(reshape(slice(cotangent, -1, 0, 1), shape), reshape(slice(cotangent, -1, 1, 2), shape));
  }
  if (cotangent.shape() != y.shape()) throw golden::Refused("cot.y has shape " + to_string(cotangent.shape()));
  Gradients gradients;
  tape.backward(y, cotangent, gradients);
  for (const auto& leaf : c.leaves()) {
    const Tensor got = leaf.parameter.defined() ? gradients.of(leaf.parameter) : gradients.of(leaf.leaf);
    results.push_back({leaf.name, compare(got, c.raw_tensor(leaf.name), dtype)});
  }
  return results;
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string ending = ".safetensors";
  if (name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0)
    name.resize(name.size() - ending.size());
  return name;
}

// Returns the exit code: 0, 1 or 2.
int check(const std::string& path, const Options& options) {
  const std::string name = base_name(path);
  try {
    const std::vector<Named> results = run(path, options.dtype);
    double worst = 0;
    bool ok = true;
    for (const Named& r : results) {
      worst = std::max(worst, r.comparison.max_error);
      if (!r.comparison.ok) {
        ok = false;
        std::printf("FAIL %s  %s max_err=%.3g at %s\n", name.c_str(), r.name.c_str(), r.comparison.max_error,
                    r.comparison.where.c_str());
      }
    }
    if (ok) std::printf("ok   %s  max_err=%.3g\n", name.c_str(), worst);
    if (options.verbose)
      for (const Named& r : results)
        std::printf("       %-32s max_err=%.3g at %s\n", r.name.c_str(), r.comparison.max_error,
                    r.comparison.where.c_str());
    return ok ? 0 : 1;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "weft-golden: %s: %s\n", path.c_str(), error.what());
    return 2;
  }
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--verbose") {
      options.verbose = true;
    } else if (arg == "--dtype" && i + 1 < argc) {
      const std::string dtype = argv[++i];
      if (dtype != "f64" && dtype != "f32") return false;
      options.dtype = dtype == "f64" ? DType::f64 : DType::f32;
    } else if (arg.rfind("--", 0) == 0) {
      return false;
    } else {
      options.files.push_back(arg);
    }
  }
  return !options.files.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(usage, stdout);
    return 0;
  }
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(usage, stderr);
    return 2;
  }
  int exit_code = 0;
  for (const std::string& file : options.files) exit_code = std::max(exit_code, check(file, options));
  return exit_code;
}
