// Mixing by Toeplitz matrices, and the coefficients and spectra kept between calls. A layer whose parameters make the
// coefficients owns a KeptToeplitz.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/spectral.h"

namespace weft::detail {

// x (b, h, n, dim), t (h, m, dim): T x with T_ij = t_(i-j), or (T x) / (T·1) if `normalize`, in x's dtype.
Tensor toeplitz_mix(const Tensor& x, const Tensor& t, bool causal, bool normalize);

// Several threads may call it at once, as long as no thread writes the parameters.
class KeptToeplitz {
 public:
  // toeplitz_mix() with the coefficients that `make` returns. They and their spectra are kept for the next x of this b
  // and n, as long as the parameters that make them have these versions. Nothing is recorded. All arguments except x
  // and the versions must be the same in all calls.
  Tensor mix(const Tensor& x, const std::function<Tensor()>& make, bool causal, bool normalize,
             const std::vector<std::uint64_t>& versions);

 private:
  struct Latest;
  std::mutex mutex_;
  std::shared_ptr<const Latest> latest_;
};

}  // namespace weft::detail
