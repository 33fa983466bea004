// The eigenvalues of small real matrices.
#pragma once
#include <complex>
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// Returns the n eigenvalues of `a` (n, n) f64, each as often as its multiplicity. Those of a conjugate pair may differ
// in their last bits. Throws an Error if the iteration does not converge.
std::vector<std::complex<double>> eigenvalues(const Tensor& a);

}  // namespace weft::detail
