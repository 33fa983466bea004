// Prefetching, and stores that bypass the caches. Neither changes a value.
#pragma once
#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA::simd {

inline constexpr std::uintptr_t line_bytes = 64;

// Prefetches `Bytes` bytes at an address, for reading or writing. They go into the second-level cache, because work
// buffers occupy the first level. The address need not be valid.
template <int Bytes, bool Write>
WEFT_INLINE inline void fetch(std::uintptr_t address) noexcept {
  for (std::uintptr_t i = 0; i < Bytes; i += line_bytes)
    __builtin_prefetch(reinterpret_cast<const void*>(address + i), Write, 2);
}

// Whether there are stores of `Bytes` bytes that don't first read the cache line. Stores of less than a line would
// still read it.
template <int Bytes>
inline constexpr bool has_streams = Bytes % line_bytes == 0 && WEFT_HAS_STREAMS;

// Whether p, and every address at a multiple of `step` bytes from p, begins a cache line.
inline bool are_lines(const void* p, std::int64_t step) noexcept {
  return (reinterpret_cast<std::uintptr_t>(p) | static_cast<std::uintptr_t>(step)) % line_bytes == 0;
}

// Stores v without first reading the cache line. p must be aligned like a vector. Call end_streams() before other
// threads read the data.
template <class T>
inline void stream(T* p, Batch<T> v) noexcept {
#if WEFT_HAS_STREAMS && WEFT_HAS_AVX512
  if constexpr (sizeof(T) == 4) _mm512_stream_ps(p, v);
  else _mm512_stream_pd(p, v);
#elif WEFT_HAS_STREAMS
  if constexpr (sizeof(T) == 4) _mm256_stream_ps(p, v);
  else _mm256_stream_pd(p, v);
#else
  store(p, v);
#endif
}

inline void end_streams() noexcept {
#if WEFT_HAS_STREAMS
  _mm_sfence();
#endif
}

}  // namespace weft::detail::WEFT_ISA::simd
