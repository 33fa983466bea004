// Families of kernels: kernels/gemm.h declares GemmKernels<T>, a struct of functions and of the sizes that they like,
// and kernels/gemm.cpp, a unit, fills it each time it is compiled, once per instruction set. Drivers ask for
//   const GemmKernels<T>& kernel = kernels<GemmKernels<T>>();
#pragma once
#include <cstddef>
#include <string_view>

#include "simd/computed.h"
#include "weft/detail/isas.h"

namespace weft::detail {

// An instruction set's own kernels of a family. Units define specializations, which the linker finds by type: nothing
// lists them, and nothing is registered at run time.
template <Isa isa, class Table>
struct KernelTable {
  static const Table value;
};

// The end of a unit: its table<T>() gives the kernels of the instruction set that it is compiled for; of f32 and f64, or
// of bf16, too.
#define WEFT_KERNEL_TABLE(Table, T)                                                   \
  template <>                                                                         \
  constinit const weft::detail::Table<T>                                              \
      weft::detail::KernelTable<weft::Isa::WEFT_ISA, weft::detail::Table<T>>::value = \
          weft::detail::WEFT_ISA::table<T>();
#define WEFT_KERNEL_TABLES(Table) WEFT_KERNEL_TABLE(Table, float) WEFT_KERNEL_TABLE(Table, double)
#define WEFT_KERNEL_TABLES_AND_BF16(Table) WEFT_KERNEL_TABLES(Table) WEFT_KERNEL_TABLE(Table, weft::bfloat16)

// "gemm" of …/kernels/gemm.h: the header's name is the unit's. Families state theirs as `header = __FILE__`.
constexpr std::string_view unit_of(std::string_view header) {
  const std::size_t folder = header.rfind('/');
  if (folder != header.npos) header.remove_prefix(folder + 1);
  return header.substr(0, header.find('.'));
}

// The table that serves an instruction set: weft/isas.def says whose it is. Null if this build doesn't have it.
template <class Table, Isa isa>
constexpr const Table* serving_table() {
  constexpr auto owner = static_cast<Isa>(serving(isa_lines, index_of(isa), unit_of(Table::header)));
  if constexpr (is_built(isa)) return &KernelTable<owner, Table>::value;
  else return nullptr;
}

// By instruction set.
template <class Table>
inline constexpr const Table* kernel_tables[] = {
#define WEFT_INSTRUCTION_SET(name, ...) serving_table<Table, Isa::name>(),
#include "weft/isas.def"
};

// The kernels of the current Context's instruction set.
template <class Table>
const Table& kernels() {
  return *kernel_tables<Table>[index_of(current_isa())];
}

// Those of any. Error if this build doesn't have it or this CPU can't run it.
template <class Table>
const Table& kernels(Isa isa) {
  require_isa("kernels", isa);
  return *kernel_tables<Table>[index_of(isa)];
}

}  // namespace weft::detail
