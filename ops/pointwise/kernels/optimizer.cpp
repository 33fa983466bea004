#include "simd/rows.h"  // must precede the rules, whose formulas use it

#include "pointwise/kernels/optimizer.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

template <class Rule, class T>
void update(const void* constants, T* p, const T* grad, T* const* states, std::int64_t n) noexcept {
  const auto u = *static_cast<const typename Rule::template Constants<T>*>(constants);
  T* kept[Rule::states];
  for (std::size_t k = 0; k < Rule::states; ++k) kept[k] = states[k];
  simd::for_vectors<T>(n, [=](auto at) noexcept {
    Vec<T> value = at.load(p), state[Rule::states];
    for (std::size_t k = 0; k < Rule::states; ++k) state[k] = at.load(kept[k]);
    update_vector<T>(u, value, at.load(grad), state);
    for (std::size_t k = 0; k < Rule::states; ++k) at.store(kept[k], state[k]);
    at.store(p, value);
  });
}

template <class T, class... Rule>
constexpr OptimizerKernels<T> table_of(RuleList<Rule...>) {
  return {{update<Rule, T>...}};
}

template <class T>
constexpr OptimizerKernels<T> table() {
  return table_of<T>(Rules());
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(OptimizerKernels)
