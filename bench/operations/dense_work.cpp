// Work that consists of dense products: matmul, linear, einsum.
#include <cmath>
#include <map>
#include <memory>
#include <sstream>

#include "machine/machine.h"
#include "operations/dense_work.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::bench {
namespace {

using std::int64_t;

// The size of cold data: twice the last-level cache, or 512 MiB if its size is unknown.
int64_t cold_bytes() {
  const int64_t cache = last_level_cache();
  return cache > 0 ? 2 * cache : int64_t{512} << 20;
}

Tensor in_bf16(const Tensor& x) { return raw::convert(x, DType::bf16); }

// y (m, n) = x (m, k) Wᵀ + b. The weights are scaled so that y has about the same variance as x.
std::function<void()> linear_run(const std::string& kind, const Sizes& s) {
  const Tensor x = normal({s.b, s.d}, 0), weight = normal({s.n, s.d}, 1, 1 / std::sqrt(static_cast<double>(s.d))),
               bias = normal({s.n}, 2);
  const Epilogue epilogue = kind == "linear" ? Activation::none : Activation::gelu;
  if (kind != "linear-gelu-train") return [=] { linear(x, weight, bias, epilogue); };
  return [=] {
    Tape tape;
    linear(tape.watch(x), tape.watch(weight), tape.watch(bias), epilogue);
  };
}

// The product C (m, n) = A B in bf16. `form` says which of A and B are stored transposed.
std::function<void()> bf16_run(const std::string& form, const Sizes& s) {
  const auto made = [](const Shape& shape, std::uint64_t stream, char stored) {
    const Shape other = {shape[1], shape[0]};
    const Tensor x = in_bf16(normal(stored == 't' ? other : shape, stream));
    return stored == 't' ? transpose(x, 0, 1) : x;
  };
  return [a = made({s.b, s.d}, 0, form[0]), b = made({s.d, s.n}, 1, form[1])] { matmul(a, b); };
}

// Parses "einsum:EQUATION:SIZES". The sizes are in the order in which the letters first appear.
struct EinsumCase {
  std::string equation;
  std::vector<Shape> shapes;
  double flops = 0;  // for a single loop nest: one per operand and combination of indices

  explicit EinsumCase(const std::string& kind) {
    std::istringstream in(kind.substr(kind.find(':') + 1));
    std::getline(in, equation, ':');
    std::map<char, int64_t> sizes;
    double indices = 1;
    shapes.emplace_back();
    for (char c : equation.substr(0, equation.find('-'))) {
      if (c == ',') {
        shapes.emplace_back();
        continue;
      }
      if (!sizes.count(c)) {
        std::string size;
        if (!std::getline(in, size, ',')) throw Error("[bench] " + kind + ": a size is missing");
        sizes[c] = std::stoll(size);
        indices *= static_cast<double>(sizes[c]);
      }
      shapes.back().push_back(sizes[c]);
    }
    flops = indices * static_cast<double>(shapes.size());
  }
};

std::function<void()> einsum_run(const EinsumCase& e) {
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < e.shapes.size(); ++i) operands.push_back(normal(e.shapes[i], i));
  return [=, equation = e.equation] { einsum(equation, operands); };
}

Work with_threads(int threads, std::function<void()> run, double flops, double bytes) {
  Context::current().set_threads(threads);
  return {[threads, run = std::move(run)] {
            Context::current().set_threads(threads);
            run();
          },
          flops, bytes};
}

// y (m, n) = x (m, k) Wᵀ with packed weights that are not in cache.
std::function<void()> packed_run(const Sizes& s) {
  const auto packed = std::make_shared<std::vector<PackedWeight>>();
  for (const Tensor& weight : weights_of("linear-packed-cold", s)->all) packed->emplace_back(weight);
  const auto taken = std::make_shared<std::size_t>(0);
  return [=, x = normal({s.b, s.d}, 0)] { packed_linear(x, (*packed)[(*taken)++ % packed->size()]); };
}

// y (m, n) = x (m, k) Wᵀ with a bf16 x and packed or quantized weights.
Work narrow_work(const std::string& kind, const Sizes& s, int threads) {
  const Tensor x = in_bf16(normal({s.b, s.d}, 0)), weight = normal({s.n, s.d}, 1);
  const double x_and_y = 2.0 * static_cast<double>(s.b * (s.n + s.d)), elements = static_cast<double>(s.n * s.d);
  Work w;
  if (kind == "linear-bf16") {
    w = with_threads(
        threads, [=, packed = PackedWeight(weight, DType::bf16)] { packed_linear(x, packed); }, dense_flops(s),
        x_and_y + 2 * elements);
    w.peak = Peak::bf16;
    return w;
  }
  const bool is_cold = kind.ends_with("-cold"), is_int4 = kind.starts_with("linear-int4");
  // The numbers of f32 that take as many bytes as a weight: 4.5 bits per element with the scales, or 8 bits.
  const int64_t words = is_int4 ? s.n * s.d * 9 / 64 : s.n * s.d / 4,
                count = is_cold ? cold_bytes() / (4 * words) + 1 : 1;
  const auto all = std::make_shared<std::vector<QuantizedWeight>>();
  for (int64_t i = 0; i < count; ++i) all->emplace_back(weight, is_int4 ? 4 : 8);
  const auto taken = std::make_shared<std::size_t>(0);
  w = with_threads(
      threads, [=] { quantized_linear(x, (*all)[(*taken)++ % all->size()]); }, dense_flops(s),
      x_and_y + 4 * static_cast<double>(words));
  w.peak = Peak::int8;
  if (is_cold) {
    const auto numbers = std::make_shared<std::vector<Tensor>>();  // for reading: as many bytes as the weights
    for (int64_t i = 0; i < count; ++i) numbers->push_back(Tensor::zeros({words}));
    w.read = read_work([=] { return (*numbers)[(*taken)++ % numbers->size()].data<float>(); }, words, threads).run;
  }
  return w;
}

}  // namespace

std::shared_ptr<Weights> weights_of(const std::string& kind, const Sizes& s) {
  static std::map<Shape, std::shared_ptr<Weights>> cold;
  const Shape shape = {s.n, s.d};
  const bool is_cold = kind == "gemm-nt-cold" || kind == "linear-packed-cold";
  if (is_cold && cold.count(shape) != 0) return cold[shape];
  const auto made = std::make_shared<Weights>();
  made->all.push_back(normal(shape, 1));
  for (int64_t count = is_cold ? cold_bytes() / (4 * s.n * s.d) : 0; count > 0; --count) {
    made->all.push_back(Tensor::empty(shape, DType::f32));
    raw::copy(made->all.front(), made->all.back());
  }
  if (is_cold) cold[shape] = made;
  return made;
}

double dense_flops(const Sizes& s) { return 2.0 * static_cast<double>(s.b) * static_cast<double>(s.n * s.d); }
double dense_bytes(const Sizes& s) { return 4.0 * static_cast<double>(s.b * s.n + s.b * s.d + s.n * s.d); }

Work dense_work(const std::string& kind, const Sizes& s, int threads) {
  const auto made = [&](std::function<void()> run) {
    return with_threads(threads, std::move(run), dense_flops(s), dense_bytes(s));
  };
  if (kind.rfind("einsum:", 0) == 0) {
    const EinsumCase e(kind);
    return with_threads(threads, einsum_run(e), e.flops, 0);
  }
  if (kind == "linear-packed-cold") return made(packed_run(s));
  if (kind == "linear-bf16" || kind.rfind("linear-int", 0) == 0) return narrow_work(kind, s, threads);
  if (kind.rfind("linear", 0) == 0) return made(linear_run(kind, s));
  if (kind.rfind("gemm-bf16-", 0) == 0) {
    Work w = made(bf16_run(kind.substr(kind.size() - 2), s));
    w.bytes /= 2;
    w.peak = Peak::bf16;
    return w;
  }
  const bool is_tn = kind == "gemm-tn";
  const Tensor a = is_tn ? transpose(normal({s.d, s.b}, 0), 0, 1) : normal({s.b, s.d}, 0);
  if (is_tn || kind == "gemm-nn") return made([=, b = normal({s.d, s.n}, 1)] { matmul(a, b); });
  const auto weights = weights_of(kind, s);
  Work w = made([=] { matmul(a, transpose(weights->next(), 0, 1)); });
  if (s.b <= 16) w.read = read_work([=] { return weights->next().data<float>(); }, s.n * s.d, threads).run;
  return w;
}

}  // namespace weft::bench
