// Features of an x86-64 CPU, under the compiler's names. The CPU reports them. The compilers have
// __builtin_cpu_supports, but with zig's runtime library it finds no features.
#pragma once

namespace weft::detail::cpuid {

enum Feature { sse2, avx2, fma, avx512f, avx512cd, avx512dq, avx512bw, avx512bf16, avx512vnni };

// Whether the CPU has the feature, and the operating system saves the registers that it uses.
bool has(Feature feature) noexcept;

}  // namespace weft::detail::cpuid
