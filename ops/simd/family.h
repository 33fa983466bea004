// Families of kernels. For example, kernels/gemm.h declares GemmKernels<T>, a struct of functions and preferred sizes,
// with the family's `name`, "gemm". The unit kernels/gemm.cpp is compiled once for each instruction set and fills this
// struct. The column `kernels` of weft/isas.def contains these names. A driver gets the kernels with
//   const GemmKernels<T>& kernel = kernels<GemmKernels<T>>();
#pragma once
#include <cstddef>
#include <string_view>

#include "simd/computed.h"
#include "weft/detail/isas.h"

namespace weft::detail {

// The kernels of a family that are compiled for an instruction set. Units define specializations, and the linker finds
// them by type. There is no list, and nothing is registered at run time.
template <Isa isa, class Table>
struct KernelTable {
  static const Table value;
};

// Whether `file` is name.cpp. The build selects kernels by file, and dispatch selects them by name.
constexpr bool is_unit_of(std::string_view file, std::string_view name) {
  const std::size_t folder = file.rfind('/');
  if (folder != file.npos) file.remove_prefix(folder + 1);
  return file.size() == name.size() + 4 && file.substr(0, name.size()) == name && file.substr(name.size()) == ".cpp";
}

// Every unit ends with this macro. The unit's table<T>() returns the kernels of the instruction set for which the unit
// is compiled, for f32 and f64, and in some units also for bf16.
#define WEFT_KERNEL_TABLE(Table, T)                                                   \
  static_assert(weft::detail::is_unit_of(__FILE__, weft::detail::Table<T>::name));    \
  template <>                                                                         \
  constinit const weft::detail::Table<T>                                              \
      weft::detail::KernelTable<weft::Isa::WEFT_ISA, weft::detail::Table<T>>::value = \
          weft::detail::WEFT_ISA::table<T>();
#define WEFT_KERNEL_TABLES(Table) WEFT_KERNEL_TABLE(Table, float) WEFT_KERNEL_TABLE(Table, double)
#define WEFT_KERNEL_TABLES_AND_BF16(Table) WEFT_KERNEL_TABLES(Table) WEFT_KERNEL_TABLE(Table, weft::bfloat16)

// The table that an instruction set uses according to weft/isas.def. Null if this build doesn't have the table.
template <class Table, Isa isa>
constexpr const Table* serving_table() {
  constexpr auto owner = static_cast<Isa>(serving(isa_lines, index_of(isa), Table::name));
  if constexpr (is_built(isa)) return &KernelTable<owner, Table>::value;
  else return nullptr;
}

// The tables, indexed by instruction set.
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

// The kernels of any instruction set. Throws an Error if this build has no kernels for it or this CPU can't run it.
template <class Table>
const Table& kernels(Isa isa) {
  require_isa("kernels", isa);
  return *kernel_tables<Table>[index_of(isa)];
}

}  // namespace weft::detail
