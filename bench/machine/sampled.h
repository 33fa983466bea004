// Samples which vector instructions a piece of work executes, independently of what a library reports. Each sample is
// the instruction that the calling thread is about to execute. The sampler classifies it by its encoding, so it also
// works for code that is generated at run time.
#pragma once
#include <array>
#include <functional>
#include <string>

namespace weft::bench {

// The kinds are in increasing order of what a CPU must support. sse: legacy encoding. avx and avx2: VEX encoding; fused
// multiply-adds and 256-bit integer instructions are avx2. avx512: EVEX encoding. avx512bf16: products of bf16 or, with
// VNNI, of bytes. other: not a vector instruction.
enum class Sampled { other, sse, avx, avx2, avx512, avx512bf16 };
constexpr const char* sampled_names[] = {"other", "sse", "avx", "avx2", "avx512", "avx512bf16"};
constexpr std::size_t samples_count = std::size(sampled_names);
using Samples = std::array<long, samples_count>;

// Calls `run` repeatedly for this time and returns the number of samples of each kind. All counts are zero on aarch64,
// where sampling is not implemented.
Samples sample(const std::function<void()>& run, double seconds);

// The most demanding kind with at least a twentieth of the vector instructions, or "-" if there were none.
std::string ran(const Samples& samples);
// True if more than a twentieth of the vector instructions are beyond the current context's instruction set.
bool is_beyond(const Samples& samples);
// The shares of the vector instructions as text, for example "avx2 95 %, sse 5 %".
std::string shares(const Samples& samples);

}  // namespace weft::bench
