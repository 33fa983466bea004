// A family of kernels for both scalar types, as one instruction set provides it.
#pragma once

namespace weft {

template <template <class> class Table>
struct KernelFamily {
  Table<float> f32;
  Table<double> f64;

  template <class T>
  const Table<T>& of() const noexcept {
    if constexpr (sizeof(T) == sizeof(float)) return f32;
    else return f64;
  }
};

}  // namespace weft
