// Lengths of Fourier transforms: what they cost, and how they are divided.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::detail {

// Modelled time of a transform of n elements in one vector of columns, in about nanoseconds: only ratios count.
double fft_cost(std::int64_t n);
// Whether n has no prime factor above 13.
bool is_smooth(std::int64_t n);
// The radices of n's passes; none if n has a prime factor above 13, which Bluestein's algorithm takes.
std::vector<std::int64_t> fft_radices(std::int64_t n);
// The cheapest length >= n among 2^a 3^b 5^c 7^d, times 11 or 13 or neither.
std::int64_t fft_fast_length(std::int64_t n);

}  // namespace weft::detail
