// Softmax and related functions of the rows of a contiguous (rows, n) matrix, n >= 1.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct SoftmaxKernels {
  static constexpr std::string_view name = "softmax";
  // y = e^(x - max) / sum of e^(x - max)
  void (*softmax)(const T* x, T* y, std::int64_t rows, std::int64_t n) noexcept;
  // dx = y (dy - sum of dy y)
  void (*softmax_backward)(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) noexcept;

  // y = x - max - ln sum of e^(x - max)
  void (*log_softmax)(const T* x, T* y, std::int64_t rows, std::int64_t n) noexcept;
  // dx = dy - e^y sum of dy
  void (*log_softmax_backward)(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t n) noexcept;

  // y[r] = ln sum of e^x_r, stats[r] = (max, ln sum of e^(x - max)), shape (rows, 2). An infinite maximum counts as 0.
  void (*logsumexp)(const T* x, Computed<T>* y, Computed<T>* stats, std::int64_t rows, std::int64_t n) noexcept;
  // dx[r] = dy[r] softmax(x_r)
  void (*logsumexp_backward)(const T* x, const Computed<T>* stats, const Computed<T>* dy, T* dx, std::int64_t rows,
                             std::int64_t n) noexcept;

  // loss[r] = -log_softmax(x_r)[target[r]], stats[r] = (max, ln sum of e^(x - max)), shape (rows, 2). The two
  // statistics are separate, because their sum would lose the relevant digits with large logits. A row with the target
  // `ignore` gets loss 0 and isn't read. All other targets are in 0 … n-1.
  void (*cross_entropy)(const T* x, const std::int64_t* target, std::int64_t ignore, Computed<T>* loss,
                        Computed<T>* stats, std::int64_t rows, std::int64_t n) noexcept;
  // dx[r] = scale (softmax(x_r) - one_hot(target[r])), 0 for an ignored row.
  void (*cross_entropy_backward)(const T* x, const std::int64_t* target, std::int64_t ignore, const Computed<T>* stats,
                                 Computed<T> scale, T* dx, std::int64_t rows, std::int64_t n) noexcept;
};

}  // namespace weft::detail
