#include "operations/case_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "operations/reference.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::bench {
namespace {

using std::int64_t;

// Rows of signals or spectra, and the expected outputs of their transforms. Complex input is interleaved.
struct Rows {
  int64_t batch, n;
  std::vector<float> in;
  std::vector<std::vector<Wide>> expected;
};

// Extends a row of n/2+1 bins to the whole Hermitian spectrum. Bin 0 and, for even n, bin n/2 are real.
std::vector<Wide> hermitian(const float* half, int64_t n) {
  std::vector<Wide> full(static_cast<std::size_t>(n));
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const bool real = k == 0 || 2 * k == n;
    const Wide value(half[2 * k], real ? 0 : half[2 * k + 1]);
    full[static_cast<std::size_t>(k)] = value;
    if (!real) full[static_cast<std::size_t>(n - k)] = std::conj(value);
  }
  return full;
}

Rows make_rows(const std::string& kind, int64_t n) {
  Rows r{std::clamp<int64_t>(8192 / n, 1, 512), n, {}, {}};
  const bool real = kind == "r2c", inverse = kind == "c2r";
  const int64_t floats = real ? n : inverse ? 2 * (n / 2 + 1) : 2 * n;
  r.in = Random(static_cast<std::uint64_t>(n)).normal({r.batch * floats}, 0, 1).to_vector<float>();
  for (int64_t b = 0; b < r.batch; ++b) {
    float* row = r.in.data() + b * floats;
    std::vector<Wide> x(static_cast<std::size_t>(n));
    if (inverse) {
      row[1] = 0;
      if (n % 2 == 0) row[n + 1] = 0;
      x = hermitian(row, n);
      for (Wide& value : x) value = std::conj(value);  // IDFT(x) = conj(DFT(conj(x))), which is real here
    } else {
      for (int64_t j = 0; j < n; ++j)
        x[static_cast<std::size_t>(j)] = real ? Wide(row[j]) : Wide(row[2 * j], row[2 * j + 1]);
    }
    r.expected.push_back(reference_dft(x));
    r.expected.back().resize(static_cast<std::size_t>(real ? n / 2 + 1 : n));
  }
  return r;
}

double error_of(const Rows& r, bool real_output, const float* out) {
  RelativeError error;
  for (const std::vector<Wide>& row : r.expected)
    for (const Wide& expected : row) {
      error.add(real_output ? Wide(out[0]) : Wide(out[0], out[1]), real_output ? Wide(expected.real()) : expected);
      out += real_output ? 1 : 2;
    }
  return error.value();
}

Tensor weft_transform(const std::string& kind, const Rows& r) {
  if (kind == "r2c") return rfft(Tensor::from(r.in, {r.batch, r.n}), -1);
  const int64_t columns = kind == "c2r" ? r.n / 2 + 1 : r.n;
  const Tensor parts = Tensor::from(r.in, {r.batch, columns, 2});
  const Tensor x =
      complex(reshape(slice(parts, 2, 0, 1), {r.batch, columns}), reshape(slice(parts, 2, 1, 2), {r.batch, columns}));
  if (kind == "c2r") return irfft(x, r.n, -1, FftNorm::forward);
  if (kind == "c2c") return fft(x, -1);
  return raw::contiguous(transpose(fft(raw::contiguous(transpose(x, 0, 1)), -2), 0, 1));
}

// Runs f in a fresh context and returns the context's peak memory minus the memory of f's results.
template <class F>
int64_t peak_beyond_results(int threads, F f) {
  Context fresh;
  fresh.set_threads(threads);
  const ContextScope scope(fresh);
  const std::vector<Tensor> results = f();
  const MemoryUse use = fresh.memory().use();
  return static_cast<int64_t>(use.peak - use.current);
}

}  // namespace

Errors transform_errors(const std::string& kind, int64_t n) {
  if (n < 1 || (kind != "c2c" && kind != "r2c" && kind != "c2r" && kind != "c2c-columns"))
    throw Error("[bench] cannot measure errors of " + kind + " of length " + std::to_string(n));
  const Rows r = make_rows(kind, n);
  const bool real = kind == "c2r";
  const Tensor y = weft_transform(kind, r);
  Errors e{error_of(r, real, static_cast<const float*>(y.raw())), std::numeric_limits<double>::quiet_NaN()};
  std::vector<float> out(static_cast<std::size_t>(r.batch * (real ? n : 2 * n + 2)));
  if (fftw_transform(kind == "c2c-columns" ? "c2c" : kind, r.batch, n, r.in.data(), out.data()))
    e.fftw = error_of(r, real, out.data());
  return e;
}

ExtraMemory toeplitz_memory(const Sizes& s, int threads) {
  const Tensor x = Random(1).normal({s.b, 1, s.n, s.d}, 0, 1), dy = Random(2).normal(x.shape(), 0, 1);
  const Tensor t = Random(3).normal({1, s.causal ? s.n : 2 * s.n - 1, s.d}, 0, 1);
  const ToeplitzCoefficients kept(t, s.causal, s.b);
  ExtraMemory extra;
  extra.forward = peak_beyond_results(threads, [&] { return std::vector<Tensor>{toeplitz_product(x, kept)}; });
  extra.train = peak_beyond_results(threads, [&] {
    Tape tape;
    const Tensor in = tape.watch(x), weights = tape.watch(t), y = toeplitz_product(in, weights, s.causal);
    Gradients gradients;
    tape.backward(y, dy, gradients);
    return std::vector<Tensor>{y.detach(), gradients.of(in), gradients.of(weights)};
  });
  extra.train -= (s.n + 1) * s.d * 8;
  return extra;
}

}  // namespace weft::bench
