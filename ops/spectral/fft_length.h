// Lengths of Fourier transforms: their costs and their radices.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::detail {

// Modeled time of a transform of n elements in one vector of columns, in about nanoseconds. Only ratios matter.
double fft_cost(std::int64_t n);
// Whether n has no prime factor above 13.
bool is_smooth(std::int64_t n);
// The radices of n's passes. Empty if n has a prime factor above 13; Bluestein's algorithm then applies.
std::vector<std::int64_t> fft_radices(std::int64_t n);
// The cheapest length >= n among 2^a 3^b 5^c 7^d, optionally times 11 or 13.
std::int64_t fft_fast_length(std::int64_t n);

}  // namespace weft::detail
