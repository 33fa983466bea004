// Tests which kernels run: those of the current Context's instruction set, or those of a requested instruction set.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernels/reduce.h"
#include "dense/kernels/gemm.h"
#include "dense/kernels/int4.h"
#include "dense/kernels/quantized.h"
#include "dense/kernels/spatial_gate.h"
#include "pointwise/kernels/activation.h"
#include "pointwise/kernels/binary.h"
#include "pointwise/kernels/comparison.h"
#include "pointwise/kernels/dropout.h"
#include "pointwise/kernels/elementwise.h"
#include "pointwise/kernels/gate.h"
#include "pointwise/kernels/number.h"
#include "pointwise/kernels/optimizer.h"
#include "pointwise/kernels/unary.h"
#include "rows/kernels/loss.h"
#include "rows/kernels/norm.h"
#include "rows/kernels/softmax.h"
#include "spectral/kernels/fft.h"
#include "spectral/kernels/fft_four_step.h"
#include "spectral/kernels/fft_real.h"
#include "spectral/kernels/lagged_products.h"
#include "spectral/kernels/recurrence.h"
#include "spectral/kernels/toeplitz_naive.h"
#include "spectral/kernels/toeplitz_ring.h"
#include "weft/context.h"
#include "weft/error.h"

namespace weft {
using namespace detail;

namespace {

std::set<std::string_view> checked;  // names of families

// `complete` says whether every pointer and number of the table must be set.
template <class Table>
void check_family(bool complete = true) {
  checked.insert(Table::name);
  CAPTURE(std::string(Table::name));
  Context context;
  const ContextScope scope(context);
  for (Isa isa : available_isas()) {
    CAPTURE(isa_name(isa));
    context.set_isa(isa);
    const Table& table = kernels<Table>();
    CHECK(&table == &kernels<Table>(isa));
    // The set's own kernels, or those of the set that isas.def names.
    const std::size_t owner = serving(isa_lines, index_of(isa), Table::name);
    for (Isa other : available_isas()) {
      const std::size_t other_owner = serving(isa_lines, index_of(other), Table::name);
      CHECK((&table == &kernels<Table>(other)) == (owner == other_owner));
    }
    std::vector<std::uintptr_t> words(sizeof(Table) / sizeof(std::uintptr_t));
    std::memcpy(words.data(), &table, sizeof(Table));
    for (std::uintptr_t word : words) CHECK((word != 0 || !complete));
  }
}

template <template <class> class Table>
void check_family_of_both_types() {
  check_family<Table<float>>();
  check_family<Table<double>>();
}

template <template <class> class Table>
void check_family_of_all_types() {
  check_family_of_both_types<Table>();
  check_family<Table<bfloat16>>();
}

}  // namespace

TEST_CASE("dispatch: every family has kernels for every instruction set") {
  check_family_of_all_types<ActivationKernels>();
  check_family_of_all_types<BinaryKernels>();
  check_family_of_all_types<ComparisonKernels>();
  check_family_of_both_types<LossKernels>();
  check_family_of_all_types<NumberKernels>();
  check_family_of_both_types<ToeplitzRingKernels>();
  check_family_of_all_types<DropoutKernels>();
  check_family_of_all_types<ElementwiseKernels>();
  check_family_of_both_types<FftKernels>();
  check_family_of_both_types<FourStepKernels>();
  check_family_of_all_types<GemmKernels>();
  check_family<GemmKernels<Bf16ToF32>>();
  check_family_of_all_types<GateKernels>();
  check_family_of_all_types<NormKernels>();
  check_family_of_both_types<OptimizerKernels>();
  check_family_of_both_types<RealFftKernels>();
  check_family_of_all_types<ReduceKernels>();
  check_family_of_all_types<SoftmaxKernels>();
  check_family_of_all_types<SpatialGateKernels>();
  check_family_of_both_types<LaggedProductsKernels>();
  check_family_of_both_types<RecurrenceKernels>();
  check_family_of_both_types<ToeplitzNaiveKernels>();
  check_family_of_all_types<UnaryKernels>();
  check_family<QuantizedKernels<float>>(false);  // `widen` may be null
  check_family<QuantizedKernels<bfloat16>>(false);
  check_family<Int4Kernels<float>>();
  check_family<Int4Kernels<bfloat16>>();
  // If isas.def misspelled a family's name, the instruction set would silently use the kernels of the set that it
  // extends.
  for (const IsaLine& line : isa_lines)
    for (std::string_view left = line.kernels == "all" ? "" : line.kernels; !left.empty();) {
      const std::string_view name = left.substr(0, left.find(' '));
      CAPTURE(std::string(name));
      CHECK(checked.count(name) == 1);
      left.remove_prefix(std::min(left.size(), name.size() + 1));
    }
}

TEST_CASE("dispatch: WEFT_ISA limits the kernels, and vectors are as wide as isas.def says") {
  static constexpr int bytes[] = {
#define WEFT_INSTRUCTION_SET(name, processor, extends, kernels, arch, bytes, ...) bytes,
#include "weft/isas.def"
  };
  const char* const variable = ::getenv("WEFT_ISA");
  const std::string before = variable == nullptr ? "" : variable;
  for (Isa isa : available_isas()) {
    ::setenv("WEFT_ISA", isa_name(isa), 1);
    Context context;
    const ContextScope scope(context);
    CHECK(&kernels<FftKernels<float>>() == &kernels<FftKernels<float>>(isa));
    CHECK(kernels<FftKernels<float>>().lanes == bytes[index_of(isa)] / 4);
    CHECK(kernels<FftKernels<double>>().lanes == bytes[index_of(isa)] / 8);
  }
  before.empty() ? ::unsetenv("WEFT_ISA") : ::setenv("WEFT_ISA", before.c_str(), 1);
}

TEST_CASE("dispatch: requesting kernels that this build or CPU doesn't have is an Error") {
  for (std::size_t i = 0; i <= isa_count; ++i) {
    const auto isa = static_cast<Isa>(i);
    if (!cpu_has(isa)) CHECK_THROWS_WITH_AS(kernels<GemmKernels<float>>(isa), doctest::Contains(isa_name(isa)), Error);
  }
}

TEST_CASE("dispatch: each file of kernels is named after its family") {
  CHECK(is_unit_of("/a.b/ops/kernels/fft_real.cpp", "fft_real"));
  CHECK(is_unit_of("gemm.cpp", "gemm"));
  for (const char* file : {"gemm.h", "gemm", "gemm_bf16.cpp", "my_gemm.cpp", "gemm/fft.cpp", ""})
    CHECK_FALSE(is_unit_of(file, "gemm"));
}

}  // namespace weft
