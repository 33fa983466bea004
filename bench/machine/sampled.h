// Samples the vector instructions that work really runs, whatever a library claims. It takes samples of the instruction
// at which the calling thread is. The encoding tells the instructions apart, in compiled and generated code.
#pragma once
#include <array>
#include <functional>
#include <string>

namespace weft::bench {

// In increasing order of what a CPU must have. sse: legacy encoding. avx, avx2: VEX; avx2 if it is a fused multiply-add
// or 256-bit integers. avx512: EVEX. avx512bf16: products of bf16 or, by VNNI, of bytes. other: no vectors.
enum class Sampled { other, sse, avx, avx2, avx512, avx512bf16 };
constexpr const char* sampled_names[] = {"other", "sse", "avx", "avx2", "avx512", "avx512bf16"};
constexpr std::size_t samples_count = std::size(sampled_names);
using Samples = std::array<long, samples_count>;

// Samples while run is called repeatedly for that time. All zero on aarch64, which has no sampling.
Samples sample(const std::function<void()>& run, double seconds);

// The most demanding kind that makes up at least a twentieth of the vector instructions, or "-" if there were none.
std::string ran(const Samples& samples);
// True if more than a twentieth of them are beyond the current context's instruction set.
bool is_beyond(const Samples& samples);
// "avx2 95 %, sse 5 %": shares of the vector instructions.
std::string shares(const Samples& samples);

}  // namespace weft::bench
