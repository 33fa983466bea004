// Lengths of Fourier transforms: their costs and their radices.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::detail {

// The modeled time of a transform of n elements in one vector of columns, roughly in nanoseconds. Only ratios matter.
double fft_cost(std::int64_t n);
// Whether n has no prime factor above 13.
bool is_smooth(std::int64_t n);
// The radices of n's passes. If n has a prime factor above 13, the list is empty, and Bluestein's algorithm is used.
std::vector<std::int64_t> fft_radices(std::int64_t n);
// The cheapest length >= n of the form 2^a 3^b 5^c 7^d, optionally times 11 or 13.
std::int64_t fft_fast_length(std::int64_t n);

}  // namespace weft::detail
