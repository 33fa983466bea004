#include "kernels.h"
#include "weft/context.h"
#include "weft/error.h"

namespace weft {

#if defined(WEFT_HAS_SSE2)
namespace sse2 { extern const Kernels table; }
#endif
#if defined(WEFT_HAS_AVX2)
namespace avx2 { extern const Kernels table; }
#endif
#if defined(WEFT_HAS_AVX512)
namespace avx512 { extern const Kernels table; }
#endif
#if defined(WEFT_HAS_NEON)
namespace neon { extern const Kernels table; }
#endif

const Kernels& kernels(Isa isa) {
  if (cpu_has(isa)) {
#if defined(WEFT_HAS_SSE2)
    if (isa == Isa::sse2) return sse2::table;
#endif
#if defined(WEFT_HAS_AVX2)
    if (isa == Isa::avx2) return avx2::table;
#endif
#if defined(WEFT_HAS_AVX512)
    if (isa == Isa::avx512) return avx512::table;
#endif
#if defined(WEFT_HAS_NEON)
    if (isa == Isa::neon) return neon::table;
#endif
  }
  throw Error("[kernels] this CPU, or this build, has no " + std::string(isa_name(isa)));
}

const Kernels& kernels() { return kernels(Context::current().isa()); }

}  // namespace weft
