#include "weft/detail/lagged_products.h"

#include "spectral/kernels/lagged_products.h"

namespace weft::detail {

template <class T>
void add_lagged_products(std::int64_t count, std::int64_t channels, const T* t, const T* v, T* y) {
  kernels<LaggedProductsKernels<T>>().add(count, channels, t, v, y);
}

template void add_lagged_products(std::int64_t, std::int64_t, const float*, const float*, float*);
template void add_lagged_products(std::int64_t, std::int64_t, const double*, const double*, double*);

}  // namespace weft::detail
