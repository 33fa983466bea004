/// \file
/// Counter-based random numbers. Element i of a stream depends only on (seed, stream, i). Any thread may therefore
/// compute any part, and the numbers are the same for every number of threads and every instruction set.
/// The generator is Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011).
#pragma once
#include <array>
#include <cstdint>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Returns four random words for a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) noexcept;

/// A stream of random numbers. A Random object never changes, so you can copy it freely and use it on any thread.
class Random {
 public:
  /// The given stream of a seed. The streams of one seed are independent.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept : seed_(seed), stream_(stream) {}

  std::uint64_t seed() const noexcept { return seed_; }      ///< the seed of the constructor
  std::uint64_t stream() const noexcept { return stream_; }  ///< the stream of the constructor

  /// bits, uniform, normal and below return element i of this stream in four formats. All four use the same random
  /// bits. normal(2j) and normal(2j + 1) both use the bits of the two elements 2j and 2j + 1. For independent numbers
  /// in one format, use different values of i. For independent numbers in several formats, use different streams or
  /// splits.
  std::uint64_t bits(std::uint64_t i) const noexcept;
  double uniform(std::uint64_t i) const noexcept;                        ///< uniform in [0, 1), with 53 bits
  double normal(std::uint64_t i) const noexcept;                         ///< mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t i, std::uint64_t n) const noexcept;  ///< uniform in 0 … n-1, for n >= 1

  /// The k-th child of this stream: an independent generator.
  Random split(std::uint64_t k) const noexcept;

  /// Returns a tensor whose elements are uniform in [low, high). In row-major order, they are the elements 0, 1, … of
  /// this stream. Error unless dtype is f32 or f64, low and high are finite, and low <= high.
  Tensor uniform(const Shape& shape, double low, double high, DType dtype = DType::f32) const;
  /// Like uniform(), but with normally distributed elements of the given mean and standard deviation, which must be
  /// finite.
  Tensor normal(const Shape& shape, double mean, double deviation, DType dtype = DType::f32) const;

 private:
  std::uint64_t seed_, stream_;
};

}  // namespace weft
WEFT_PUBLIC_END
