// Functions that evaluate the lines of weft/isas.def. They take the list as an argument, so that tests can pass other
// lists.
#pragma once
#include <cstddef>
#include <string_view>

#include "weft/cpu.h"

namespace weft::detail {

struct IsaLine {
  std::string_view name, processor, extends, kernels;  // `kernels`: "all", or names of units separated by spaces
};

inline constexpr IsaLine isa_lines[] = {
#define WEFT_INSTRUCTION_SET(name, processor, extends, kernels, ...) {#name, #processor, #extends, #kernels},
#include "weft/isas.def"
};
inline constexpr std::size_t isa_count = sizeof isa_lines / sizeof *isa_lines;

inline constexpr std::string_view this_processor = WEFT_PROCESSOR;  // of the lines that this build has kernels for

constexpr std::size_t index_of(Isa isa) { return static_cast<std::size_t>(isa); }

// Whether the space-separated words of `text` include `word`.
constexpr bool has_word(std::string_view text, std::string_view word) {
  for (;;) {
    const std::size_t end = text.find(' ');
    if (text.substr(0, end) == word) return true;
    if (end == text.npos) return false;
    text.remove_prefix(end + 1);
  }
}

// Returns the index of the instruction set that `isa` extends, or N if it extends none.
template <std::size_t N>
constexpr std::size_t extended(const IsaLine (&lines)[N], std::size_t isa) {
  std::size_t at = 0;
  while (at < N && lines[at].name != lines[isa].extends) ++at;
  return at;
}

// Whether the first instruction set of each processor has all kernels and extends no other, and each later one extends
// an earlier one of the same processor.
template <std::size_t N>
constexpr bool is_ordered(const IsaLine (&lines)[N]) {
  for (std::size_t isa = 0; isa < N; ++isa) {
    bool is_first = true;
    for (std::size_t i = 0; i < isa; ++i) is_first = is_first && lines[i].processor != lines[isa].processor;
    const std::size_t base = extended(lines, isa);
    if (is_first && (lines[isa].extends != "none" || lines[isa].kernels != "all")) return false;
    if (!is_first && (base >= isa || lines[base].processor != lines[isa].processor)) return false;
  }
  return true;
}

// Returns the instruction set whose kernels `isa` uses for a unit. This is `isa` itself if the unit is compiled for
// `isa`. Otherwise it is the next instruction set in the chain of extended ones for which the unit is compiled.
template <std::size_t N>
constexpr std::size_t serving(const IsaLine (&lines)[N], std::size_t isa, std::string_view unit) {
  while (lines[isa].kernels != "all" && !has_word(lines[isa].kernels, unit)) isa = extended(lines, isa);
  return isa;
}

// Returns the first feature that `isa` needs and a CPU lacks, or null. lacks(i) returns the first missing feature of
// line i of the list, or null.
template <std::size_t N, class Lacks>
constexpr const char* lacking(const IsaLine (&lines)[N], std::size_t isa, Lacks lacks) {
  const char* what = nullptr;
  for (; isa < N && what == nullptr; isa = extended(lines, isa)) what = lacks(isa);
  return what;
}

// Whether this build has kernels for the instruction set.
constexpr bool is_built(Isa isa) { return has_word(WEFT_BUILT_ISAS, isa_lines[index_of(isa)].name); }

// The instruction set of the current Context.
Isa current_isa();

// Throws an Error whose message begins with [who] if this CPU can't run the instruction set or this build has no
// kernels for it.
void require_isa(const char* who, Isa isa);

}  // namespace weft::detail
