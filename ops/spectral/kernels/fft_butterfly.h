// Transforms of few elements in registers, in place: a_k becomes Σ_j a_j exp(-2πi jk/R).
#pragma once
#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {

template <class T>
struct ComplexVec {
  simd::Vec<T> re, im;

  friend ComplexVec operator+(ComplexVec a, ComplexVec b) noexcept { return {a.re + b.re, a.im + b.im}; }
  friend ComplexVec operator-(ComplexVec a, ComplexVec b) noexcept { return {a.re - b.re, a.im - b.im}; }
};

template <class T>
inline ComplexVec<T> times_minus_i(ComplexVec<T> a) noexcept {
  return {a.im, -a.re};
}

// (a.re + i a.im)(re + i im)
template <class T>
inline ComplexVec<T> product(ComplexVec<T> a, simd::Vec<T> re, simd::Vec<T> im) noexcept {
  return {simd::fnma(a.im, im, a.re * re), simd::fma(a.im, re, a.re * im)};
}
// (a.re + i a.im)(re - i im)
template <class T>
inline ComplexVec<T> product_conj(ComplexVec<T> a, simd::Vec<T> re, simd::Vec<T> im) noexcept {
  return {simd::fma(a.im, im, a.re * re), simd::fnma(a.re, im, a.im * re)};
}

// For an odd prime R, with s_j = a_j + a_(R-j), d_j = a_j - a_(R-j), j <= (R-1)/2:
//   X_k, X_(R-k) = a_0 + Σ_j s_j cos(2πjk/R) ∓ i Σ_j d_j sin(2πjk/R)
template <class T, int R>
struct Butterfly {
  WEFT_INLINE static void run(ComplexVec<T>* a, const T* roots) noexcept {
    using V = simd::Vec<T>;
    constexpr int half = (R - 1) / 2;
    ComplexVec<T> s[half], d[half];
    repeat<half>([&](auto j) WEFT_INLINE {
      s[j.value] = a[j.value + 1] + a[R - 1 - j.value];
      d[j.value] = a[j.value + 1] - a[R - 1 - j.value];
    });
    const ComplexVec<T> first = a[0];
    repeat<half>([&](auto j) WEFT_INLINE { a[0] = a[0] + s[j.value]; });
    repeat<half>([&](auto row) WEFT_INLINE {
      constexpr int k = decltype(row)::value + 1;
      ComplexVec<T> even = first, odd = {V(T(0)), V(T(0))};
      repeat<half>([&](auto j) WEFT_INLINE {
        constexpr int angle = (decltype(j)::value + 1) * k % R;
        const V c(roots[2 * angle]), sine(roots[2 * angle + 1]);
        even = {simd::fma(s[j.value].re, c, even.re), simd::fma(s[j.value].im, c, even.im)};
        odd = {simd::fma(d[j.value].re, sine, odd.re), simd::fma(d[j.value].im, sine, odd.im)};
      });
      a[k] = even + times_minus_i(odd);
      a[R - k] = even - times_minus_i(odd);
    });
  }
};

template <class T>
struct Butterfly<T, 1> {
  WEFT_INLINE static void run(ComplexVec<T>*, const T*) noexcept {}
};

template <class T>
struct Butterfly<T, 2> {
  WEFT_INLINE static void run(ComplexVec<T>* a, const T*) noexcept {
    const ComplexVec<T> b = a[1];
    a[1] = a[0] - b;
    a[0] = a[0] + b;
  }
};

//   X_0, X_2 = (a_0 + a_2) ± (a_1 + a_3),  X_1, X_3 = (a_0 - a_2) ∓ i (a_1 - a_3)
template <class T>
struct Butterfly<T, 4> {
  WEFT_INLINE static void run(ComplexVec<T>* a, const T*) noexcept {
    const ComplexVec<T> p = a[0] + a[2], q = a[0] - a[2], r = a[1] + a[3], s = times_minus_i(a[1] - a[3]);
    a[0] = p + r;
    a[1] = q + s;
    a[2] = p - r;
    a[3] = q - s;
  }
};

// With E and O the transforms of the even and odd elements, w = exp(-πi/4): X_k, X_(k+4) = E_k ± w^k O_k.
template <class T>
struct Butterfly<T, 8> {
  WEFT_INLINE static void run(ComplexVec<T>* a, const T*) noexcept {
    const simd::Vec<T> h(T(0.70710678118654752440));
    ComplexVec<T> e[4] = {a[0], a[2], a[4], a[6]}, o[4] = {a[1], a[3], a[5], a[7]};
    Butterfly<T, 4>::run(e, nullptr);
    Butterfly<T, 4>::run(o, nullptr);
    o[1] = {(o[1].re + o[1].im) * h, (o[1].im - o[1].re) * h};
    o[2] = times_minus_i(o[2]);
    o[3] = {(o[3].im - o[3].re) * h, (o[3].re + o[3].im) * -h};
    repeat<4>([&](auto k) WEFT_INLINE {
      a[k.value] = e[k.value] + o[k.value];
      a[k.value + 4] = e[k.value] - o[k.value];
    });
  }
};

// Four transforms of the elements q + 4p over p, then the factors w^(qk), w = exp(-πi/8), then four transforms over q.
template <class T>
struct Butterfly<T, 16> {
  WEFT_INLINE static void run(ComplexVec<T>* a, const T*) noexcept {
    using V = simd::Vec<T>;
    constexpr T c = T(0.92387953251128675613), s = T(0.38268343236508977173), h = T(0.70710678118654752440);
    constexpr T cosines[10] = {1, c, h, s, 0, 0, -h, 0, 0, -c}, sines[10] = {0, s, h, c, 1, 0, h, 0, 0, -s};
    repeat<4>([&](auto q) WEFT_INLINE {
      ComplexVec<T> b[4] = {a[q.value], a[q.value + 4], a[q.value + 8], a[q.value + 12]};
      Butterfly<T, 4>::run(b, nullptr);
      repeat<4>([&](auto k) WEFT_INLINE {
        constexpr int power = decltype(q)::value * decltype(k)::value;
        if constexpr (power == 0) a[q.value + 4 * k.value] = b[k.value];
        else if constexpr (power == 4) a[q.value + 4 * k.value] = times_minus_i(b[k.value]);
        else a[q.value + 4 * k.value] = product(b[k.value], V(cosines[power]), V(-sines[power]));
      });
    });
    ComplexVec<T> y[16];
    repeat<4>([&](auto k) WEFT_INLINE {
      ComplexVec<T> b[4] = {a[4 * k.value], a[4 * k.value + 1], a[4 * k.value + 2], a[4 * k.value + 3]};
      Butterfly<T, 4>::run(b, nullptr);
      repeat<4>([&](auto m) WEFT_INLINE { y[k.value + 4 * m.value] = b[m.value]; });
    });
    repeat<16>([&](auto k) WEFT_INLINE { a[k.value] = y[k.value]; });
  }
};

}  // namespace weft::detail::WEFT_ISA
