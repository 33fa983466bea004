#include "tape/gradient.h"

#include <algorithm>
#include <utility>

#include "tensor/storage.h"

namespace weft::detail {
namespace {

// Whether x may be written in place: no other handle shares its elements, no read-only owner provides them, and no axis
// repeats them with stride 0.
bool writable_in_place(const Tensor& x) {
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (x.shape()[i] > 1 && x.strides()[i] == 0) return false;
  return x.unique() && x.storage()->writable();
}

bool same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

}  // namespace

Tensor copy_of(const Tensor& x) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  raw::copy(x, y);
  return y;
}

Tensor owned(Tensor x) { return writable_in_place(x) ? std::move(x) : copy_of(x); }

void Gradient::fill_blank_parts() {
  for (Tensor& part : uninitialized_parts_) raw::fill(part, 0);
  uninitialized_parts_.clear();
}

const Tensor& Gradient::sum() {
  fill_blank_parts();
  return sum_;
}

Tensor Gradient::take() {
  fill_blank_parts();
  return std::move(sum_);
}

void Gradient::clear() {
  sum_ = Tensor();
  uninitialized_parts_.clear();
}

void Gradient::add(Tensor contribution) {
  fill_blank_parts();
  if (!sum_.defined()) {
    sum_ = std::move(contribution);
  } else if (writable_in_place(sum_)) {
    raw::accumulate(sum_, contribution);
  } else if (writable_in_place(contribution)) {
    raw::accumulate(contribution, sum_);
    sum_ = std::move(contribution);
  } else {
    sum_ = copy_of(sum_);
    raw::accumulate(sum_, contribution);
  }
}

void Gradient::add_part(const PartOp& op, const Shape& shape, const Tensor& contribution) {
  Tensor part = claim_part(op, shape, contribution.dtype());
  if (part.defined()) return raw::copy(contribution, part);
  fill_blank_parts();
  sum_ = owned(std::move(sum_));
  part = op.part_of(sum_);
  raw::accumulate(part, contribution);
}

Tensor Gradient::claim_part(const PartOp& op, const Shape& shape, DType dtype) {
  if (!sum_.defined()) {
    sum_ = Tensor::empty(shape, dtype);
    auto rest = op.rest_of(sum_);
    if (!rest) {
      raw::fill(sum_, 0);
      return {};
    }
    uninitialized_parts_ = std::move(*rest);
    return op.part_of(sum_);
  }
  if (uninitialized_parts_.empty()) return {};
  Tensor part = op.part_of(sum_);
  const auto found = std::find_if(uninitialized_parts_.begin(), uninitialized_parts_.end(),
                                  [&](const Tensor& view) { return same_view(view, part); });
  if (found == uninitialized_parts_.end()) return {};
  uninitialized_parts_.erase(found);
  return part;
}

}  // namespace weft::detail
