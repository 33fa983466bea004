// Layer norm and RMS norm of the rows of a matrix x (rows, n), n >= 1. The rows of x are x_row apart, those of dx are
// dx_row apart, and the other matrices are contiguous. Both norms are
//   y = (x - mean) rstd ⊙ gamma + beta.
// Layer norm: rstd = 1/√(var + eps), with the biased variance var. RMS norm: mean = 0, beta = 0, rstd = 1/(‖x‖₂/√n +
// eps). rstd is always finite: a row of equal elements gives beta even if eps rounds to 0. x, y and their gradients
// have type T. Parameters, their gradients and the statistics have the type in which T is computed.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct NormKernels {
  static constexpr std::string_view name = "norm";
  // stats (rows, 2) receives mean and rstd of each row. It may be null.
  void (*layer)(const T* x, std::int64_t x_row, const Computed<T>* gamma, const Computed<T>* beta, double eps, T* y,
                Computed<T>* stats, std::int64_t rows, std::int64_t n) noexcept;
  // stats (rows, 2) receives ‖x‖₂/√n and rstd of each row. It may be null.
  void (*rms)(const T* x, std::int64_t x_row, const Computed<T>* gamma, double eps, T* y, Computed<T>* stats,
              std::int64_t rows, std::int64_t n) noexcept;

  // With x̂ = (x - mean) rstd and g = dy ⊙ gamma:
  //   layer: dx = rstd (g - avg(g) - x̂ avg(g x̂))
  //   rms:   dx = rstd (g - x̂ avg(g x̂) / q), q = rstd ‖x‖₂/√n; the second term is 0 where x = 0
  //   dgamma = sum over rows of dy ⊙ x̂, dbeta = sum over rows of dy
  // dx may be dy itself or null. dgamma and dbeta may both be null.
  using Backward = void (*)(const T* x, std::int64_t x_row, const Computed<T>* gamma, const Computed<T>* stats,
                            const T* dy, T* dx, std::int64_t dx_row, Computed<T>* dgamma, Computed<T>* dbeta,
                            std::int64_t rows, std::int64_t n) noexcept;
  Backward layer_backward, rms_backward;
};

}  // namespace weft::detail
