// Reference transforms in long double. They are used to measure the errors of other transforms.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace weft::bench {

using Wide = std::complex<long double>;

// X_k = Σ_j x_j e^(-2πi jk/n)
std::vector<Wide> reference_dft(const std::vector<Wide>& x);

// ‖result - expected‖ / ‖expected‖
struct RelativeError {
  long double difference = 0, norm = 0;
  void add(Wide result, Wide expected) {
    difference += std::norm(result - expected);
    norm += std::norm(expected);
  }
  double value() const { return static_cast<double>(std::sqrt(difference / norm)); }
};

}  // namespace weft::bench
