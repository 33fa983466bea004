// topk: the largest or smallest elements along an axis.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// Combines the rank of an element and its index into a key. The ascending order of the keys is the order in which topk
// returns the elements.
template <class T>
struct Ranked;
template <>
struct Ranked<float> {
  using Bits = std::uint32_t;
  using Key = std::uint64_t;  // the element's rank, then the index
  static Key key(Bits place, std::int64_t index) { return Key{place} << 32 | static_cast<std::uint32_t>(index); }
  static std::int64_t index(Key key) { return static_cast<std::int64_t>(key & 0xffffffff); }
};
template <>
struct Ranked<double> {
  using Bits = std::uint64_t;
  using Key = std::pair<Bits, std::int64_t>;
  static Key key(Bits place, std::int64_t index) { return {place, index}; }
  static std::int64_t index(const Key& key) { return key.second; }
};

// Returns x's rank among all numbers in ascending order. The rank consists of x's bits as an unsigned integer, with the
// sign bit inverted or, for a negative x, with all bits inverted. -0 and 0 have the same rank. NaN has the largest
// rank. The function has no branches, because signs are hard to predict.
template <class T>
typename Ranked<T>::Bits place_of(T x) {
  using Bits = typename Ranked<T>::Bits;
  constexpr int last = 8 * sizeof(T) - 1;
  const T number = x + T(0);  // -0 becomes 0
  Bits bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  const Bits is_negative = bits >> last, is_nan = x != x;
  return (bits ^ ((0 - is_negative) | Bits{1} << last)) | (0 - is_nan);
}

// Writes the indices of the k largest (or smallest) of n elements to `result`, in sorted order. Equal elements are in
// the order of their indices.
template <class T>
void first_of_row(const T* row, std::int64_t n, std::int64_t k, bool largest,
                  std::vector<typename Ranked<T>::Key>& keys, std::int64_t* result) {
  const typename Ranked<T>::Bits inverted = largest ? ~typename Ranked<T>::Bits{0} : 0;
  for (std::int64_t i = 0; i < n; ++i)
    keys[static_cast<std::size_t>(i)] = Ranked<T>::key(place_of(row[i]) ^ inverted, i);
  const auto first = keys.begin(), last = first + k;
  if (k <= n / 16) {  // then partial_sort compares most elements only with the largest of the k keys
    std::partial_sort(first, last, first + n);
  } else {
    if (k < n) std::nth_element(first, last, first + n);
    std::sort(first, last);
  }
  std::transform(first, last, result, Ranked<T>::index);
}

// Returns the indices of the k largest (or smallest) elements of each row, in sorted order: (…, k) for x (…, n).
Tensor first_of_rows(const Tensor& x, std::int64_t k, bool largest) {
  const std::int64_t n = x.size(-1);
  const bool fits_f32_key = n <= std::int64_t{1} << 32;
  const Tensor rows = raw::contiguous(as_dtype(x, fits_f32_key ? computed_of(x.dtype()) : DType::f64));
  Shape shape = rows.shape();
  shape.back() = k;
  Tensor result = Tensor::empty(shape, DType::i64);
  if (result.numel() == 0) return result;
  with_real("topk", rows.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    auto* to = result.mutable_data<std::int64_t>();
    Context::current().parallel_for(result.numel() / k, rows_per_task(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<typename Ranked<T>::Key> keys(static_cast<std::size_t>(n));
      for (std::int64_t r = begin; r < end; ++r) first_of_row(rows.data<T>() + r * n, n, k, largest, keys, to + r * k);
    });
  });
  return result;
}

}  // namespace

TopK topk(const Tensor& x, std::int64_t k, std::int64_t dim, bool largest) {
  return guard_memory("topk", [&] {
    check_floating("topk", x);
    const std::int64_t n = x.shape()[checked_dim("topk", dim, x.rank())];
    if (k < 0 || k > n)
      fail("topk", "expected 0 to " + std::to_string(n) + " elements of axis " + std::to_string(dim) + " of shape " +
                       to_string(x.shape()) + ", got " + std::to_string(k));
    const Tensor indices = transpose(first_of_rows(transpose(x.detach(), dim, -1), k, largest), dim, -1);
    return TopK{gather(x, dim, indices), indices};
  });
}

}  // namespace weft
