#include "train/gradient_rounding.h"

#include <type_traits>

#include "weft/custom_op.h"

namespace weft::detail {
namespace {

// Calls f(rounded[i], exact[i]) for each element.
template <class F>
void with_each(const Tensor& rounded, Tensor& exact, const F& f) {
  const bfloat16* const from = rounded.data<bfloat16>();
  with_real("exchange", exact.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T* const to = exact.mutable_data<T>();
    for (std::int64_t i = 0; i < exact.numel(); ++i) f(static_cast<T>(static_cast<float>(from[i])), to[i]);
  });
}

}  // namespace

void GradientRounding::round(const Tensor& gradient, std::int64_t begin, Tensor& rounded) {
  with_real("exchange", rest_.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* const exact = gradient.data<T>();
    T* const rest = rest_.mutable_data<T>() + begin;
    auto* const to = rounded.mutable_data<bfloat16>();
    for (std::int64_t i = 0; i < gradient.numel(); ++i) {
      const T sum = exact[i] + rest[i];
      to[i] = bfloat16(sum);
      rest[i] = sum - static_cast<T>(static_cast<float>(to[i]));
    }
  });
}

void copy_rounded(const Tensor& rounded, Tensor& exact) {
  with_each(rounded, exact, [](auto from, auto& to) { to = from; });
}

void add_rounded(const Tensor& rounded, Tensor& exact) {
  with_each(rounded, exact, [](auto from, auto& to) { to += from; });
}

}  // namespace weft::detail
