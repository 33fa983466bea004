// Toeplitz and circulant products of columns by transforms. The steps are fused: no spectrum of a column leaves the
// work buffers.
//
// Real sequences of 2m elements are polynomials modulo X^2m + 1 = (X^m - i)(X^m + i). They are determined by their
// remainders modulo X^m - i, whose coefficient j is x_j + i x_(m+j). With X = ωY, ω = exp(πi/2m), the remainders become
// complex sequences (x_j + i x_(m+j)) ω^j modulo Y^m - 1, which are multiplied by transforms of m elements. A product
// of n <= m elements with lags -(n-1) … n-1 is such a product: lag l < 0 is X^l = -X^(2m+l), the upper halves of the
// columns are 0, and y is the real part of the product. The transform evaluates polynomials at points of modulus 1. The
// conjugate of a spectrum therefore belongs to the transposed product and to correlations.
//
// In rows with exchanged parts, the real and imaginary parts have changed places, so that a forward transform computes
// the inverse.
#pragma once
#include <cstdint>

#include "simd/family.h"
#include "spectral/kernels/fft.h"

namespace weft::detail {

template <class T>
struct RingView {
  const FftView<T>* plan;  // plan of length m
  const T* twist;          // ω^j, [m][2]
  const T* untwist;        // ω^-j / m, [m][2]
};

template <class T>
struct ToeplitzRingKernels {
  static constexpr std::string_view name = "toeplitz_ring";
  // Computes the spectrum of the n real columns x in `work`, in the plan's order. `next` are the columns that will be
  // read after x.
  void (*spectrum)(const RingView<T>& ring, std::int64_t n, const FftColumns<const T>& x,
                   const FftColumns<const T>& next, T* work) noexcept;
  // Works in place: computes the spectrum of coefficients. The real parts of work are t_0 … t_(m-1), the imaginary
  // parts are t_-m … t_-1.
  void (*coefficients)(const RingView<T>& ring, T* work) noexcept;
  // y has n rows and is the product of x with the spectrum c or, if `transposed`, with the conjugate of c. `next` are
  // the columns that will be read after x.
  void (*multiply)(const RingView<T>& ring, std::int64_t n, const FftColumns<const T>& x, const T* c, bool transposed,
                   const FftColumns<T>& y, const FftColumns<const T>& next, T* work) noexcept;
  // Adds d̂ conj(x̂), with exchanged parts, to sum. d̂ is the transform of dy, and x̂ is the given transform of x.
  // Unless c is null, dx is the product of dy with conj(c). `next` are the columns that will be read after dy.
  void (*correlate)(const RingView<T>& ring, std::int64_t n, const T* x_spectrum, const FftColumns<const T>& dy,
                    const T* c, const FftColumns<T>& dx, const FftColumns<const T>& next, T* sum, T* work) noexcept;
  // The inverse of `coefficients`, for a spectrum with exchanged parts.
  void (*remainder)(const RingView<T>& ring, T* work) noexcept;
};

}  // namespace weft::detail
