// Mixes tokens with Toeplitz matrices. A layer that computes the coefficients from its parameters owns a KeptToeplitz,
// which keeps the coefficients and their spectra between calls.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/spectral.h"

namespace weft::detail {

// Returns T x with T_ij = t_(i-j), or (T x) / (T·1) if `normalize`, in x's dtype. x is (b, h, n, dim), and t is (h, m,
// dim).
Tensor toeplitz_mix(const Tensor& x, const Tensor& t, bool causal, bool normalize);

// Several threads may call mix() at the same time, as long as no thread writes the parameters.
class KeptToeplitz {
 public:
  // Returns toeplitz_mix() of x and the coefficients that `make` returns. The object keeps the coefficients and their
  // spectra, and uses them again if the next x has the same b and n and the parameters have the same versions. Nothing
  // is recorded on a tape. All arguments except x and the versions must be the same in all calls.
  Tensor mix(const Tensor& x, const std::function<Tensor()>& make, bool causal, bool normalize,
             const std::vector<std::uint64_t>& versions);

 private:
  struct Latest;
  std::mutex mutex_;
  std::shared_ptr<const Latest> latest_;
};

}  // namespace weft::detail
