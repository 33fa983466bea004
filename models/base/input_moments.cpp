#include "base/input_moments.h"

#include "weft/ops.h"

namespace weft::detail {
namespace {

thread_local InputMoments* moments_of_thread = nullptr;

}  // namespace

InputMoments::InputMoments() : previous_(moments_of_thread) { moments_of_thread = this; }
InputMoments::~InputMoments() { moments_of_thread = previous_; }
InputMoments* InputMoments::current() noexcept { return moments_of_thread; }

void InputMoments::add(const Parameter& weight, const Tensor& x) {
  const std::int64_t in = weight.shape()[1];
  const NoGrad suspended;
  const Tensor rows = raw::convert(reshape(raw::contiguous(x), {-1, in}), DType::f32);
  const Tensor product = matmul(transpose(rows, 0, 1), rows);
  Tensor& sum = moments_[weight.id()];
  if (sum.defined()) raw::accumulate(sum, product);
  else sum = product;
}

Tensor InputMoments::of(const Parameter& weight) const {
  const auto found = moments_.find(weight.id());
  return found == moments_.end() ? Tensor() : found->second;
}

}  // namespace weft::detail
