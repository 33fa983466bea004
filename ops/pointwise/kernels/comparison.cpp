#include "pointwise/kernels/comparison.h"

#include "pointwise/kernels/operand.h"
#include "simd/math.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::lanes;
using simd::Vec;

// A vector of bytes and a vector of integers, each with one element for every lane of a vector of T.
template <class T>
struct MaskOf {
  using Bytes [[gnu::vector_size(lanes<T>)]] = signed char;
  using Element = std::conditional_t<sizeof(Computed<T>) == 4, std::int32_t, std::int64_t>;
  using Integers [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = Element;
};

template <class T>
using Native = typename Vec<T>::register_type;

struct Less {
  template <class R>
  auto operator()(R a, R b) const noexcept {
    return a < b;
  }
};
struct LessEqual {
  template <class R>
  auto operator()(R a, R b) const noexcept {
    return a <= b;
  }
};
struct Equal {
  template <class R>
  auto operator()(R a, R b) const noexcept {
    return a == b;
  }
};
struct NotEqual {
  template <class R>
  auto operator()(R a, R b) const noexcept {
    return a != b;
  }
};

template <class T, class F>
void compare(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, std::int8_t* y,
             std::int64_t n) noexcept {
  using Bytes = typename MaskOf<T>::Bytes;
  const Operand<T> left(a, a_stride), right(b, b_stride);
  const auto bytes = [&](auto at) noexcept {
    const Native<T> l = left.load(at), r = right.load(at);
    const auto lanes_of = __builtin_bit_cast(typename MaskOf<T>::Integers, F{}(l, r));  // -1 for true
    return __builtin_convertvector(-lanes_of, Bytes);
  };
  std::int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) {
    const Bytes found = bytes(simd::Whole{i});
    __builtin_memcpy(y + i, &found, sizeof found);
  }
  if (i == n) return;
  std::int8_t rest[lanes<T>];
  const Bytes found = bytes(simd::Rest{i, n - i});
  __builtin_memcpy(rest, &found, sizeof found);
  for (std::int64_t k = 0; i + k < n; ++k) y[i + k] = rest[k];
}

template <class T>
void choose(const std::int8_t* mask, std::int64_t mask_stride, const T* a, std::int64_t a_stride, const T* b,
            std::int64_t b_stride, T* y, std::int64_t n) noexcept {
  using Bits = math::Bits<Vec<T>>;
  const Operand<T> yes(a, a_stride), no(b, b_stride);
  const auto chosen = [&](auto at, const std::int8_t* m) noexcept {
    typename MaskOf<T>::Bytes bytes;
    __builtin_memcpy(&bytes, m, sizeof bytes);
    const auto wide = __builtin_convertvector(bytes, typename MaskOf<T>::Integers);
    const Bits from_a = __builtin_bit_cast(Bits, wide != 0);
    const Vec<T> x = yes.load(at), z = no.load(at);
    return math::from_bits<Vec<T>>((from_a & math::to_bits(x)) | (~from_a & math::to_bits(z)));
  };
  std::int8_t same[lanes<T>];
  for (std::int64_t k = 0; k < lanes<T>; ++k) same[k] = mask[0];
  std::int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>)
    simd::store(y + i, chosen(simd::Whole{i}, mask_stride == 0 ? same : mask + i));
  if (i == n) return;
  if (mask_stride != 0)
    for (std::int64_t k = 0; i + k < n; ++k) same[k] = mask[i + k];
  simd::store_n(y + i, chosen(simd::Rest{i, n - i}, same), n - i);
}

template <class T>
constexpr ComparisonKernels<T> table() {
  return {.less = compare<T, Less>,
          .less_equal = compare<T, LessEqual>,
          .equal = compare<T, Equal>,
          .not_equal = compare<T, NotEqual>,
          .choose = choose<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(ComparisonKernels)
