#include "weft/gradients.h"

#include <utility>

#include "tape/gradient.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

void Gradients::begin(const std::vector<Leaf>& leaves) {
  for (const Leaf& leaf : leaves) entries_.push_back({leaf.value.node(), leaf.parameter, Tensor()});
}

Tensor Gradients::of(const Tensor& watched) const {
  return guard_memory("gradients", [&] {
    for (const Entry& entry : entries_)
      if (entry.leaf.tape == watched.node().tape && entry.leaf.index == watched.node().index)
        return entry.gradient.defined() ? entry.gradient : Tensor::zeros(watched.shape(), watched.dtype());
    throw Error("[gradients] the tensor has no gradient here, because the tape did not watch it");
  });
}

Tensor Gradients::of(const Parameter& parameter) const {
  return guard_memory("gradients", [&] {
    (void)parameter.value();  // Error if it is undefined
    Tensor sum;
    for (const Entry& entry : entries_) {
      if (entry.parameter != parameter.id() || !entry.gradient.defined()) continue;
      if (sum.defined()) {
        sum = copy_of(sum);
        raw::accumulate(sum, entry.gradient);
      } else {
        sum = entry.gradient;
      }
    }
    return sum.defined() ? sum : Tensor::zeros(parameter.value().shape(), parameter.value().dtype());
  });
}

void Gradients::complete(const Leaf& leaf, Tensor gradient) {
  for (Entry& entry : entries_)
    if (entry.leaf.tape == leaf.value.node().tape && entry.leaf.index == leaf.value.node().index)
      entry.gradient = std::move(gradient);
}

}  // namespace weft
