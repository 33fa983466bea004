#include "weft/parameter_set.h"

#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/rebind.h"

namespace weft {
using namespace detail;

namespace {

constexpr std::int64_t alignment = 64;  // bytes

Tensor slice_of(const Tensor& flat, const ParameterSet::Entry& entry) {
  const Shape& shape = entry.parameter.value().shape();
  return flat.view(shape, contiguous_strides(shape), entry.offset);
}

}  // namespace

ParameterSet::ParameterSet(const NamedParameters& parameters) try {
  std::int64_t end = 0;
  DType dtype = DType::f32;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.defined() && !parameter.writable()) throw Error(lent_message(parameter, "[parameter set] " + name));
    if (!parameter.trainable() || index_.count(parameter.id())) continue;
    const Tensor& value = parameter.value();
    if (entries_.empty()) dtype = value.dtype();
    if (value.dtype() != dtype)
      throw Error("[parameter set] expected parameters of the same dtype; " + name + " has dtype " +
                  dtype_name(value.dtype()) + ", and those before it have " + dtype_name(dtype));
    index_[parameter.id()] = entries_.size();
    entries_.push_back({name, parameter, end, value.numel()});
    const std::int64_t step = alignment / static_cast<std::int64_t>(dtype_size(dtype));
    end = (end + value.numel() + step - 1) / step * step;
  }
  if (entries_.empty()) throw Error("[parameter set] expected at least one trainable parameter, got none");
  values_ = Tensor::zeros({end}, dtype);
  for (Entry& entry : entries_) {
    Tensor place = slice_of(values_, entry);
    raw::copy(entry.parameter.value(), place);
    rebind(entry.parameter, place);
  }
  // Releases the parameters' previous blocks, whose sizes may never be requested again.
  Context::current().memory().trim();
  gradients_ = Tensor::zeros({end}, dtype);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("parameter set");
}

std::int64_t ParameterSet::parameter_count() const noexcept {
  std::int64_t count = 0;
  for (const Entry& entry : entries_) count += entry.numel;
  return count;
}

Tensor ParameterSet::gradient(const Entry& entry) const { return slice_of(gradients_, entry); }

Tensor& ParameterSet::state(std::size_t k) {
  while (states_.size() <= k) states_.push_back(Tensor::zeros(values_.shape(), values_.dtype()));
  return states_[k];
}

void ParameterSet::zero_gradients() { raw::fill(gradients_, 0.0); }

void ParameterSet::begin(const std::vector<Leaf>&) { received_ = false; }

void ParameterSet::complete(const Leaf& leaf, Tensor gradient) {
  const auto found = index_.find(leaf.parameter);
  if (found == index_.end()) return;  // a watched tensor, or a parameter outside of this set
  const Entry& entry = entries_[found->second];
  if (entry.parameter.value().storage() != values_.storage())
    throw Error("[parameter set] " + entry.name + " was moved to another set, which now owns its value");
  Tensor sum = slice_of(gradients_, entry);
  raw::accumulate(sum, gradient);
  received_ = true;
}

void ParameterSet::end() {
  if (!received_)
    throw Error("[backward] expected a result that depends on trainable parameters of the set (" +
                entries_.front().name + ", …), got one that depends on none of them");
}

}  // namespace weft
