// Mixing by Toeplitz matrices, and what it keeps of their coefficients between calls: a layer whose parameters make
// coefficients has one.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/spectral.h"

namespace weft::detail {

// x (b, h, n, dim), t (h, m, dim): T x, T_ij = t_(i-j), or (T x) / (T·1) if it is to be normalized; of x's dtype.
Tensor toeplitz_mix(const Tensor& x, const Tensor& t, bool causal, bool normalize);

// Calls may come from several threads, as long as nobody writes the parameters.
class KeptToeplitz {
 public:
  // toeplitz_mix() of the coefficients that `make` gives; they and their spectra are kept for the next x of this b and n, as
  // long as the parameters that make them have these versions. Nothing is recorded. What isn't x is the same in all calls.
  Tensor mix(const Tensor& x, const std::function<Tensor()>& make, bool causal, bool normalize,
             const std::vector<std::uint64_t>& versions);

 private:
  struct Latest;
  std::mutex mutex_;
  std::shared_ptr<const Latest> latest_;
};

}  // namespace weft::detail
