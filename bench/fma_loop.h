// The register-only loop that measures the FMA peak, for each instruction set.
#pragma once

namespace weft::bench {

struct FmaLoop {
  float (*run)(long iterations, float factor, float term);
  double flops;  // an iteration: a multiply and an add for each lane of each accumulator
};

namespace sse2 { extern const FmaLoop fma_loop; }
namespace avx2 { extern const FmaLoop fma_loop; }
namespace avx512 { extern const FmaLoop fma_loop; }
namespace neon { extern const FmaLoop fma_loop; }

}  // namespace weft::bench
