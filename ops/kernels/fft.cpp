#include "fft.h"

#include "family.h"
#include "fft_butterfly.h"
#include "simd.h"

namespace weft::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

template <class T> constexpr int64_t lanes = simd::lanes<T>;
template <class T> constexpr int64_t row = 2 * simd::lanes<T>;

// Row k of a buffer.
template <class T>
inline ComplexVec<T> read(const T* work, int64_t k) noexcept {
  return {simd::load(work + k * row<T>), simd::load(work + k * row<T> + lanes<T>)};
}
template <class T>
inline void write(T* work, int64_t k, ComplexVec<T> v) noexcept {
  simd::store(work + k * row<T>, v.re);
  simd::store(work + k * row<T> + lanes<T>, v.im);
}
template <class T>
inline ComplexVec<T> exchanged(ComplexVec<T> v) noexcept { return {v.im, v.re}; }

template <class T, int R>
void pass(const FftPass<T>& p, const T* x, T* y) noexcept {
  const int64_t stride = p.stride, apart = p.stride * p.groups;
  for (int64_t k = 0; k < p.groups; ++k) {
    const T* w = p.twiddles;
    for (int64_t i = 0; i < stride; ++i, w += 2 * (R - 1)) {
      ComplexVec<T> a[R];
      const T* from = x + (i + stride * R * k) * row<T>;
      T* to = y + (i + stride * k) * row<T>;
      repeat<R>([&](auto q) noexcept { a[q.value] = read(from, q.value * stride); });
      Butterfly<T, R>::run(a, p.roots);
      write(to, 0, a[0]);
      repeat<R - 1>([&](auto q) noexcept {
        constexpr int j = decltype(q)::value + 1;
        if (i > 0) a[j] = product(a[j], Vec<T>(w[2 * j - 2]), Vec<T>(w[2 * j - 1]));
        write(to, j * apart, a[j]);
      });
    }
  }
}

template <class T>
T* passes(const FftView<T>& plan, T* x, T* y) noexcept {
  for (int64_t i = 0; i < plan.passes; ++i) {
    const FftPass<T>& p = plan.pass[i];
    switch (p.radix) {
      case 2: pass<T, 2>(p, x, y); break;
      case 3: pass<T, 3>(p, x, y); break;
      case 4: pass<T, 4>(p, x, y); break;
      case 5: pass<T, 5>(p, x, y); break;
      case 7: pass<T, 7>(p, x, y); break;
      case 8: pass<T, 8>(p, x, y); break;
      case 11: pass<T, 11>(p, x, y); break;
      default: pass<T, 13>(p, x, y); break;
    }
    T* result = y;
    y = x;
    x = result;
  }
  return x;
}

// The planes are exchanged along with the product by the chirp's spectrum, and back with the last product.
template <class T>
T* bluestein(const FftView<T>& plan, T* x, T* y) noexcept {
  const FftView<T>& convolution = *plan.convolution;
  const T *b = plan.chirp, *spectrum = plan.chirp_spectrum;
  for (int64_t k = 0; k < plan.n; ++k) write(y, k, product_conj(read(x, k), Vec<T>(b[2 * k]), Vec<T>(b[2 * k + 1])));
  const Vec<T> zero(T(0));
  for (int64_t k = plan.n; k < convolution.n; ++k) write(y, k, ComplexVec<T>{zero, zero});
  T* z = passes(convolution, y, x);
  for (int64_t k = 0; k < convolution.n; ++k)
    write(z, k, exchanged(product(read(z, k), Vec<T>(spectrum[2 * k]), Vec<T>(spectrum[2 * k + 1]))));
  z = passes(convolution, z, z == x ? y : x);
  for (int64_t k = 0; k < plan.n; ++k)
    write(z, k, product_conj(exchanged(read(z, k)), Vec<T>(b[2 * k]), Vec<T>(b[2 * k + 1])));
  return z;
}

template <class T>
T* transform(const FftView<T>& plan, T* x, T* y) noexcept {
  return plan.convolution ? bluestein(plan, x, y) : passes(plan, x, y);
}

template <class T>
bool side_by_side(const FftColumns<T>& x) noexcept {
  for (int64_t c = 1; c < x.count; ++c)
    if (x.offset[c] != x.offset[0] + c) return false;
  return true;
}

constexpr int64_t block = 16;  // elements of a column that are moved at once, so that the rows stay in L1

template <class T>
void gather(int64_t n, const FftColumns<const T>& x, T* plane) noexcept {
  if (side_by_side(x)) {
    const T* from = x.data + x.offset[0];
    if (x.count == lanes<T>)
      for (int64_t k = 0; k < n; ++k) simd::store(plane + k * row<T>, simd::load(from + k * x.step));
    else
      for (int64_t k = 0; k < n; ++k) simd::store(plane + k * row<T>, simd::load_n(from + k * x.step, x.count));
    return;
  }
  for (int64_t k = 0; k < n && x.count < lanes<T>; ++k) simd::store(plane + k * row<T>, Vec<T>(T(0)));
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = first + block < n ? first + block : n;
    for (int64_t c = 0; c < x.count; ++c) {
      const T* from = x.data + x.offset[c];
      for (int64_t k = first; k < end; ++k) plane[k * row<T> + c] = from[k * x.step];
    }
  }
}

template <class T>
void scatter(int64_t n, const T* plane, T factor, const FftColumns<T>& y) noexcept {
  if (side_by_side(y)) {
    T* to = y.data + y.offset[0];
    const Vec<T> f(factor);
    if (y.count == lanes<T>)
      for (int64_t k = 0; k < n; ++k) simd::store(to + k * y.step, simd::load(plane + k * row<T>) * f);
    else
      for (int64_t k = 0; k < n; ++k) simd::store_n(to + k * y.step, simd::load(plane + k * row<T>) * f, y.count);
    return;
  }
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = first + block < n ? first + block : n;
    for (int64_t c = 0; c < y.count; ++c) {
      T* to = y.data + y.offset[c];
      for (int64_t k = first; k < end; ++k) to[k * y.step] = plane[k * row<T> + c] * factor;
    }
  }
}

template <class T>
void half_spectrum(int64_t n, T weight, T* real, T* imag) noexcept {
  simd::store(imag, Vec<T>(T(0)));
  if (n % 2 == 0) simd::store(imag + n / 2 * row<T>, Vec<T>(T(0)));
  if (weight == T(1)) return;
  const Vec<T> w(weight);
  for (int64_t k = 1; 2 * k < n; ++k)
    for (T* part : {real, imag}) simd::store(part + k * row<T>, simd::load(part + k * row<T>) * w);
}

template <class T>
void multiply(int64_t n, const T* x, const T* c, T* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    const ComplexVec<T> f = read(c, k);
    write(y, k, exchanged(product(read(x, k), f.re, f.im)));
  }
}

template <class T>
void multiply_conj(int64_t n, const T* x, const T* c, T* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    const ComplexVec<T> f = read(c, k);
    write(y, k, exchanged(product_conj(read(x, k), f.re, f.im)));
  }
}

template <class T>
void accumulate_conj(int64_t n, const T* x, const T* c, T* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    const ComplexVec<T> f = read(c, k);
    write(y, k, read(y, k) + exchanged(product_conj(read(x, k), f.re, f.im)));
  }
}

template <class T>
constexpr FftKernels<T> table() {
  return {lanes<T>, gather<T>, scatter<T>, transform<T>, half_spectrum<T>, multiply<T>, multiply_conj<T>,
          accumulate_conj<T>};
}

}  // namespace

extern const KernelFamily<FftKernels> fft;
constexpr KernelFamily<FftKernels> fft = {table<float>(), table<double>()};

}  // namespace weft::WEFT_ISA
