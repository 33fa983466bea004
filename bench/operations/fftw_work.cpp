#include "operations/kinds.h"

#if WEFT_BENCH_FFTW
#include <fftw3.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "weft/random.h"

namespace weft::bench {
namespace {

using Plan = std::shared_ptr<fftwf_plan_s>;

Plan owned(fftwf_plan plan) { return Plan(plan, fftwf_destroy_plan); }

void use_threads(int threads) {
  static const int ready = fftwf_init_threads();
  fftwf_plan_with_nthreads(ready != 0 ? threads : 1);
}

using Buffer = std::shared_ptr<float>;

Buffer buffer(std::int64_t floats) {
  const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
  Buffer data(static_cast<float*>(fftwf_malloc(bytes)), fftwf_free);
  std::memset(data.get(), 0, bytes);
  return data;
}

fftwf_complex* as_complex(const Buffer& data) { return reinterpret_cast<fftwf_complex*>(data.get()); }

// Fills the buffer with random numbers. Call this after planning, because planning overwrites the data.
void fill(const Buffer& data, std::int64_t floats) {
  const Tensor values = Random(1).normal({floats}, 0, 1);
  std::memcpy(data.get(), values.data<float>(), static_cast<std::size_t>(floats) * sizeof(float));
}

// Plans c2c of (b, n, d) along n. With d = 1, the rows are contiguous.
Plan c2c_plan(const Sizes& s, fftwf_complex* in, fftwf_complex* out) {
  const auto n = static_cast<int>(s.n), b = static_cast<int>(s.b), d = static_cast<int>(s.d);
  const fftwf_iodim transform = {n, d, d}, loops[] = {{b, n * d, n * d}, {d, 1, 1}};
  return owned(fftwf_plan_guru_dft(1, &transform, 2, loops, in, out, FFTW_FORWARD, FFTW_MEASURE));
}

Plan r2c_plan(std::int64_t batch, std::int64_t length, float* in, fftwf_complex* out) {
  const auto b = static_cast<int>(batch), n = static_cast<int>(length), half = n / 2 + 1;
  return owned(fftwf_plan_many_dft_r2c(1, &n, b, in, nullptr, 1, n, out, nullptr, 1, half, FFTW_MEASURE));
}

Plan c2r_plan(std::int64_t batch, std::int64_t length, fftwf_complex* in, float* out, unsigned flags = FFTW_MEASURE) {
  const auto b = static_cast<int>(batch), n = static_cast<int>(length), half = n / 2 + 1;
  return owned(fftwf_plan_many_dft_c2r(1, &n, b, in, nullptr, 1, half, out, nullptr, 1, n, flags));
}

std::function<void()> c2c_run(const Sizes& s) {
  const Buffer in = buffer(2 * s.b * s.n * s.d), out = buffer(2 * s.b * s.n * s.d);
  const Plan plan = c2c_plan(s, as_complex(in), as_complex(out));
  fill(in, 2 * s.b * s.n * s.d);
  return [=] { fftwf_execute_dft(plan.get(), as_complex(in), as_complex(out)); };
}

std::function<void()> r2c_run(const Sizes& s) {
  const Buffer in = buffer(s.b * s.n), out = buffer(2 * s.b * (s.n / 2 + 1));
  const Plan plan = r2c_plan(s.b, s.n, in.get(), as_complex(out));
  fill(in, s.b * s.n);
  return [=] { fftwf_execute_dft_r2c(plan.get(), in.get(), as_complex(out)); };
}

// Like weft's c2r, the transform does not overwrite its input.
std::function<void()> c2r_run(const Sizes& s) {
  const std::int64_t size = 2 * s.b * (s.n / 2 + 1);
  const Buffer in = buffer(size), out = buffer(s.b * s.n);
  const Plan plan = c2r_plan(s.b, s.n, as_complex(in), out.get(), FFTW_MEASURE | FFTW_PRESERVE_INPUT);
  fill(in, size);
  return [=] { fftwf_execute_dft_c2r(plan.get(), as_complex(in), out.get()); };
}

// z ← z · w for `count` complex numbers.
void multiply(float* z, const float* w, std::int64_t count) {
  for (std::int64_t i = 0; i < 2 * count; i += 2) {
    const float real = z[i] * w[i] - z[i + 1] * w[i + 1];
    z[i + 1] = z[i] * w[i + 1] + z[i + 1] * w[i];
    z[i] = real;
  }
}

// y = irfft(rfft(x padded to 2n) · spectrum)[:n] for b·d contiguous rows. It processes `rows` rows at a time in the
// same buffers.
std::function<void()> toeplitz_run(const Sizes& s, int threads) {
  const std::int64_t n = s.n, d = s.d, all = s.b * d, rows = std::min<std::int64_t>(threads, all), half = n + 1;
  const Buffer padded = buffer(rows * 2 * n), product = buffer(rows * 2 * n);
  const Buffer spectra = buffer(2 * rows * half), kernel = buffer(2 * d * half);
  const Buffer x = buffer(all * n), y = buffer(all * n);
  const Plan forward = r2c_plan(rows, 2 * n, padded.get(), as_complex(spectra));
  const Plan inverse = c2r_plan(rows, 2 * n, as_complex(spectra), product.get());
  std::memset(padded.get(), 0, static_cast<std::size_t>(rows * 2 * n) * sizeof(float));
  fill(x, all * n);
  fill(kernel, 2 * d * half);
  return [=] {
    const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
    for (std::int64_t row = 0; row + rows <= all; row += rows) {
      for (std::int64_t r = 0; r < rows; ++r) std::memcpy(padded.get() + r * 2 * n, x.get() + (row + r) * n, bytes);
      fftwf_execute(forward.get());
      for (std::int64_t r = 0; r < rows; ++r)
        multiply(spectra.get() + 2 * half * r, kernel.get() + 2 * half * ((row + r) % d), half);
      fftwf_execute(inverse.get());
      for (std::int64_t r = 0; r < rows; ++r) std::memcpy(y.get() + (row + r) * n, product.get() + r * 2 * n, bytes);
    }
  };
}

}  // namespace

std::string fftw_version() { return fftwf_version; }

Work fftw_work(const std::string& kind, const Sizes& s, int threads) {
  use_threads(threads);
  Work w{{}, nominal_flops(kind, s), nominal_bytes(kind, s)};
  if (kind == "c2c") w.run = c2c_run({s.b, s.n, 1});
  if (kind == "r2c") w.run = r2c_run(s);
  if (kind == "c2r") w.run = c2r_run(s);
  if (kind == "c2c-columns") w.run = c2c_run(s);
  if (kind == "toeplitz-cached") w.run = toeplitz_run(s, threads);
  return w;
}

bool fftw_transform(const std::string& kind, std::int64_t batch, std::int64_t n, const float* in, float* out) {
  use_threads(1);
  const std::int64_t half = n / 2 + 1;
  const std::int64_t read = kind == "c2c" ? 2 * n : kind == "r2c" ? n : 2 * half;
  const std::int64_t written = kind == "c2c" ? 2 * n : kind == "r2c" ? 2 * half : n;
  const Buffer x = buffer(batch * read), y = buffer(batch * written);
  Plan plan;
  // One second is enough, because the error hardly depends on the plan. Planning a million numbers takes 15 s.
  fftwf_set_timelimit(1);
  if (kind == "c2c") plan = c2c_plan({batch, n, 1}, as_complex(x), as_complex(y));
  if (kind == "r2c") plan = r2c_plan(batch, n, x.get(), as_complex(y));
  if (kind == "c2r") plan = c2r_plan(batch, n, as_complex(x), y.get());
  fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
  if (!plan) return false;
  std::memcpy(x.get(), in, static_cast<std::size_t>(batch * read) * sizeof(float));
  fftwf_execute(plan.get());
  std::memcpy(out, y.get(), static_cast<std::size_t>(batch * written) * sizeof(float));
  return true;
}

}  // namespace weft::bench

#else

namespace weft::bench {

std::string fftw_version() { return {}; }
Work fftw_work(const std::string&, const Sizes&, int) { return {}; }
bool fftw_transform(const std::string&, std::int64_t, std::int64_t, const float*, float*) { return false; }

}  // namespace weft::bench
#endif
