#include <cmath>
#include <memory>

#include "machine/machine.h"
#include "operations/dense_work.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::bench {
namespace {

Tensor complex_normal(const Shape& shape, DType real = DType::f32) {
  return complex(Random(1, 0).normal(shape, 0, 1, real), Random(1, 1).normal(shape, 0, 1, real));
}
Tensor coefficients(const Sizes& s) { return normal({1, s.causal ? s.n : 2 * s.n - 1, s.d}, 2); }

std::function<void()> toeplitz_run(const Sizes& s, bool cached) {
  const Tensor x = normal({s.b, 1, s.n, s.d}, 0), t = coefficients(s);
  const bool causal = s.causal;
  if (!cached) return [=] { toeplitz_product(x, t, causal); };
  const auto kept = std::make_shared<ToeplitzCoefficients>(t, causal, s.b);
  return [=] { toeplitz_product(x, *kept); };
}

// The Toeplitz product in its naive or matrix form.
std::function<void()> form_run(const Sizes& s, ToeplitzForm form) {
  const Tensor x = normal({s.b, 1, s.n, s.d}, 0), t = coefficients(s);
  return [=, causal = s.causal] { toeplitz_product(x, t, causal, form); };
}

// Forward and backward of f(inputs), starting from the given cotangent.
template <class F>
std::function<void()> train_run(F f, const std::vector<Tensor>& inputs, const Tensor& cotangent) {
  return [=] {
    Tape tape;
    std::vector<Tensor> watched;
    for (const Tensor& x : inputs) watched.push_back(tape.watch(x));
    const Tensor y = f(watched);
    Gradients gradients;
    tape.backward(y, cotangent, gradients);
  };
}

std::function<void()> run_of(const std::string& kind, const Sizes& s) {
  const Shape shape = {s.b, s.n, s.d};
  if (kind == "c2c") return [x = complex_normal({s.b, s.n})] { fft(x, -1); };
  if (kind == "r2c") return [x = normal({s.b, s.n}, 0)] { rfft(x, -1); };
  if (kind == "c2r") return [x = complex_normal({s.b, s.n / 2 + 1}), n = s.n] { irfft(x, n, -1); };
  if (kind == "c2c-f64") return [x = complex_normal({s.b, s.n}, DType::f64)] { fft(x, -1); };
  if (kind == "c2c-columns") return [x = complex_normal(shape)] { fft(x, -2); };
  if (kind == "toeplitz" || kind == "toeplitz-cached") return toeplitz_run(s, kind == "toeplitz-cached");
  if (kind == "toeplitz-train") {
    const auto product = [causal = s.causal](const std::vector<Tensor>& in) {
      return toeplitz_product(in[0], in[1], causal);
    };
    return train_run(product, {normal({s.b, 1, s.n, s.d}, 0), coefficients(s)}, normal({s.b, 1, s.n, s.d}, 3));
  }
  if (kind == "toeplitz-naive") return form_run(s, ToeplitzForm::naive);
  if (kind == "toeplitz-matrix") return form_run(s, ToeplitzForm::matrix);
  if (kind == "circulant") return [x = normal(shape, 0), c = normal({s.n, s.d}, 2)] { circulant_product(x, c); };
  if (kind == "mix") return [x = normal(shape, 0)] { fourier_mix(x, 1, 2); };
  if (kind == "mix-train")
    return train_run([](const std::vector<Tensor>& in) { return fourier_mix(in[0], 1, 2); }, {normal(shape, 0)},
                     normal(shape, 3));
  throw Error("[bench] unknown kind of work: " + kind);
}

}  // namespace

double c2c_flops(std::int64_t n) { return 5.0 * static_cast<double>(n) * std::log2(static_cast<double>(n)); }

double nominal_flops(const std::string& kind, const Sizes& s) {
  const auto b = static_cast<double>(s.b), n = static_cast<double>(s.n), d = static_cast<double>(s.d);
  const double padded = d * c2c_flops(2 * s.n) / 2;  // d real transforms of length 2n
  if (kind == "c2c" || kind == "c2c-f64") return b * c2c_flops(s.n);
  if (kind == "r2c" || kind == "c2r") return b * c2c_flops(s.n) / 2;
  if (kind == "c2c-columns") return b * d * c2c_flops(s.n);
  if (kind == "toeplitz-cached") return 2 * b * padded;
  if (kind == "toeplitz") return (2 * b + 1) * padded;
  if (kind == "toeplitz-train") return (4 * b + 2) * padded;
  if (kind == "toeplitz-naive") return b * d * n * (s.causal ? n + 1 : 2 * n);
  if (kind == "toeplitz-matrix") return 2 * b * d * n * n;
  if (kind == "circulant") return (2 * b + 1) * d * c2c_flops(s.n) / 2;
  const double mix = b * (n * c2c_flops(s.d) + d * c2c_flops(s.n));
  if (kind == "mix") return mix;
  if (kind == "mix-train") return 2 * mix;
  return 0;
}

double nominal_bytes(const std::string& kind, const Sizes& s) {
  const auto b = static_cast<double>(s.b), n = static_cast<double>(s.n), d = static_cast<double>(s.d);
  if (kind == "c2c") return 16 * b * n;
  if (kind == "c2c-f64") return 32 * b * n;
  if (kind == "r2c" || kind == "c2r") return 8 * b * n;
  if (kind == "c2c-columns") return 16 * b * n * d;
  return (kind == "toeplitz-train" || kind == "mix-train" ? 16 : 8) * b * n * d;
}

Work weft_work(const std::string& kind, const Sizes& s, int threads) {
  if (kind == "fma") return fma_work(threads);
  if (kind == "copy") return copy_work(s.n, threads);
  for (const char* dense : {"gemm-", "linear", "einsum:"})
    if (kind.rfind(dense, 0) == 0) return dense_work(kind, s, threads);
  Context::current().set_threads(threads);
  return {[threads, run = run_of(kind, s)] {
            Context::current().set_threads(threads);
            run();
          },
          nominal_flops(kind, s), nominal_bytes(kind, s)};
}

}  // namespace weft::bench
