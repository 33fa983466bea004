#include "weft/cpu.h"

#include <cstdlib>
#include <string>

#include "system/cpuid.h"
#include "system/hwcap.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/isas.h"
#include "weft/error.h"

// weft/isas.def uses the macro HAS. If the CPU lacks the feature, HAS returns the feature's name from the enclosing
// function. Compilers reject tests for features of other processor families, so the macros ON_x86_64 and ON_aarch64
// replace these tests. "other" has no features to test.
#define ON_other(questions) questions
#if defined(__x86_64__)
#define HAS(feature) \
  if (!cpuid::has(cpuid::feature)) return #feature;
#define ON_x86_64(questions) questions
#define ON_aarch64(questions) return "an aarch64 processor";
#elif defined(__aarch64__)
#define HAS(feature) \
  if (!hwcap::has(hwcap::feature)) return #feature;
#define ON_x86_64(questions) return "an x86-64 processor";
#define ON_aarch64(questions) questions
#else
#define ON_x86_64(questions) return "an x86-64 processor";
#define ON_aarch64(questions) return "an aarch64 processor";
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

namespace {

// One function for each line of the list. It returns the first feature of the line that this CPU lacks, or null.
constexpr const char* (*own_lacks[])() = {
#define WEFT_INSTRUCTION_SET(name, processor, extends, kernels, arch, bytes, traits, features, flags) \
  []() -> const char* { ON_##processor(features) return nullptr; },
#include "weft/isas.def"
};

const char* lacking(Isa isa) {
  return detail::lacking(isa_lines, index_of(isa), [](std::size_t line) { return own_lacks[line](); });
}

std::string why_not(Isa isa) {
  const std::size_t line = index_of(isa);
  const char* what = lacking(isa);
  if (line < isa_count && !is_built(isa) && (what == nullptr || isa_lines[line].processor == this_processor))
    return std::string("this build has no kernels for this instruction set (a build with -DWEFT_ISAS=") +
           (isa_lines[line].processor == "other" ? "generic" : "all") + " has them)";
  return std::string("this machine lacks ") + (what == nullptr ? "this instruction set" : what);
}

}  // namespace

void require_isa(const char* who, Isa isa) {
  if (!cpu_has(isa)) throw Error(std::string("[") + who + "] " + isa_name(isa) + " can't be used: " + why_not(isa));
}

}  // namespace detail

const char* isa_name(Isa isa) noexcept { return enum_name(isa); }

bool cpu_has(Isa isa) noexcept { return index_of(isa) < isa_count && is_built(isa) && lacking(isa) == nullptr; }

std::vector<Isa> available_isas() {
  std::vector<Isa> all;
  for (const EnumName<Isa>& known : EnumNames<Isa>::all)
    if (cpu_has(known.value)) all.push_back(known.value);
  return all;
}

Isa best_isa() {
  const char* variable = std::getenv("WEFT_ISA");
  const std::string cap = variable == nullptr ? "" : variable;
  const std::vector<Isa> available = available_isas();
  if (available.empty()) throw Error("[cpu] this CPU supports none of the instruction sets of this build");
  Isa best = available.front();
  std::string names;
  for (const auto& [isa, name] : EnumNames<Isa>::all) {
    if (isa_lines[index_of(isa)].processor != this_processor) continue;
    names += std::string(names.empty() ? "" : ", ") + name;
    if (cpu_has(isa)) best = isa;
    if (cap == name) return best;
  }
  if (cap.empty()) return best;
  throw Error("[cpu] expected one of " + names + " in the environment variable WEFT_ISA, got \"" + cap + "\"");
}

}  // namespace weft
