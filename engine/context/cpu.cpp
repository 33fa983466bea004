#include "weft/cpu.h"

#include <cstdlib>
#include <string>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "weft/detail/enum_names.h"
#include "weft/detail/isas.h"
#include "weft/error.h"

// HAS in weft/isas.def. Another kind of processor's features can't even be asked for: ON_processor leaves them out.
#if defined(__x86_64__)
// Also asks XGETBV whether the operating system keeps the wide registers.
#define HAS(feature) &&__builtin_cpu_supports(#feature)
#define ON_x86_64(answer) answer
#define ON_aarch64(answer) false
#else
// NOLINTNEXTLINE(bugprone-macro-parentheses): a part of a condition
#define HAS(feature) &&(getauxval(AT_HWCAP) & HWCAP_##feature) != 0
#define ON_x86_64(answer) false
#define ON_aarch64(answer) answer
#endif

namespace weft {
using namespace detail;

namespace detail {

static_assert(is_ordered(isa_lines));

template <>
struct EnumNames<Isa> {
  static constexpr const char* what = "instruction set";
  static constexpr EnumName<Isa> all[] = {
#define WEFT_INSTRUCTION_SET(name, ...) {Isa::name, #name},
#include "weft/isas.def"
  };
};

void require_isa(const char* who, Isa isa) {
  if (!cpu_has(isa)) throw Error(std::string("[") + who + "] this CPU, or this build, has no " + isa_name(isa));
}

}  // namespace detail

const char* isa_name(Isa isa) noexcept { return enum_name(isa); }

bool cpu_has(Isa isa) noexcept {
  const bool has[] = {
#define WEFT_INSTRUCTION_SET(name, processor, extends, kernels, arch, bytes, features, flags) \
  ON_##processor(true features),
#include "weft/isas.def"
  };
  return index_of(isa) < isa_count && is_built(isa) && runs(isa_lines, has, index_of(isa));
}

std::vector<Isa> available_isas() {
  std::vector<Isa> all;
  for (const EnumName<Isa>& known : EnumNames<Isa>::all)
    if (cpu_has(known.value)) all.push_back(known.value);
  return all;
}

Isa best_isa() {
  const char* variable = std::getenv("WEFT_ISA");
  const std::string cap = variable == nullptr ? "" : variable;
  Isa best = available_isas().front();
  std::string names;
  for (const auto& [isa, name] : EnumNames<Isa>::all) {
    if (isa_lines[index_of(isa)].processor != this_processor) continue;
    names += std::string(names.empty() ? "" : ", ") + name;
    if (cpu_has(isa)) best = isa;
    if (cap == name) return best;
  }
  if (cap.empty()) return best;
  throw Error("[cpu] the environment variable WEFT_ISA is \"" + cap + "\", expected one of " + names);
}

}  // namespace weft
