#include "kernels.h"
#include "weft/context.h"
#include "weft/error.h"

namespace weft {

#if defined(__x86_64__)
namespace sse2 { extern const Kernels table; }
namespace avx2 { extern const Kernels table; }
namespace avx512 { extern const Kernels table; }
#elif defined(__aarch64__)
namespace neon { extern const Kernels table; }
#endif

const Kernels& kernels(Isa isa) {
  if (!cpu_has(isa)) throw Error("[kernels] this CPU can't run " + std::string(isa_name(isa)));
  switch (isa) {
#if defined(__x86_64__)
    case Isa::sse2: return sse2::table;
    case Isa::avx2: return avx2::table;
    case Isa::avx512: return avx512::table;
    case Isa::neon: break;
#elif defined(__aarch64__)
    case Isa::neon: return neon::table;
    default: break;
#endif
  }
  throw Error("[kernels] this build has no kernels for " + std::string(isa_name(isa)));
}

const Kernels& kernels() { return kernels(Context::current().isa()); }

}  // namespace weft
