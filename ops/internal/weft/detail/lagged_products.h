// One row of a causal Toeplitz product, for token streams.
#pragma once
#include <cstdint>

namespace weft::detail {

// y_c += Σ_(k < count) t_(-k)c · v_kc, in ascending order of k. The rows of t, v and y have `channels` numbers. t points
// to the row of the largest lag: the rows of smaller lags precede it. T is float or double.
template <class T>
void add_lagged_products(std::int64_t count, std::int64_t channels, const T* t, const T* v, T* y);

}  // namespace weft::detail
