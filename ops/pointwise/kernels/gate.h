// Products of a gate and an activation, for whole arrays.
#pragma once
#include <cstdint>

#include "simd/family.h"
#include "weft/activation.h"

namespace weft::detail {

template <class T>
struct GateKernels {
  static constexpr std::string_view name = "gate";
  // y = gate f(x)
  void (*forward)(Activation f, const T* gates, const T* x, T* y, std::int64_t n) noexcept;
  // dgate = dy f(x), dx = (dy gate) f'(x). dx may be dy itself. Either result may be null.
  void (*backward)(Activation f, const T* gates, const T* x, const T* dy, T* dgates, T* dx, std::int64_t n) noexcept;
};

}  // namespace weft::detail
