// Activations of whole arrays.
#pragma once
#include <cstdint>

#include "simd/family.h"
#include "weft/activation.h"

namespace weft::detail {

template <class T>
struct ActivationKernels {
  static constexpr std::string_view name = "activation";
  void (*forward)(Activation f, const T* x, T* y, std::int64_t n) noexcept;                 // y = f(x)
  void (*backward)(Activation f, const T* x, const T* dy, T* dx, std::int64_t n) noexcept;  // dx = dy f'(x)
};

}  // namespace weft::detail
