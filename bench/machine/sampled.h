// Which vector instructions work really spends its time in, whatever a library says of itself: samples of the
// instruction that the calling thread is at, told apart by its encoding, in compiled and generated code alike.
#pragma once
#include <array>
#include <functional>
#include <string>

namespace weft::bench {

// In order of what a CPU must have: sse: legacy encoding; avx, avx2: VEX, avx2 where it is a fused multiply-add or
// integers of 256 bits; avx512: EVEX; avx512bf16: its products of bf16 or, by VNNI, of bytes. other: no vectors.
enum class Sampled { other, sse, avx, avx2, avx512, avx512bf16 };
constexpr const char* sampled_names[] = {"other", "sse", "avx", "avx2", "avx512", "avx512bf16"};
constexpr std::size_t samples_count = std::size(sampled_names);
using Samples = std::array<long, samples_count>;

// While run is called again and again for so long. All zero where there is no sampling: on aarch64.
Samples sample(const std::function<void()>& run, double seconds);

// The most demanding that at least a twentieth of the vector instructions are, or "-" if none was seen.
std::string ran(const Samples& samples);
// More than a twentieth of them are beyond the current context's instruction set.
bool is_beyond(const Samples& samples);
// "avx2 95 %, sse 5 %", of the vector instructions.
std::string shares(const Samples& samples);

}  // namespace weft::bench
