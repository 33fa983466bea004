#include "train/weight_average.h"

#include <algorithm>

#include "weft/context.h"

namespace weft::detail {
namespace {

constexpr std::int64_t block = 1 << 14;  // the number of elements in a thread's unit of work

template <class T>
void move_towards(Tensor& average, const Tensor& values, double decay) {
  const T take = static_cast<T>(1 - decay);
  const T* p = values.data<T>();
  T* a = average.mutable_data<T>();
  Context::current().parallel_for(average.numel(), block, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] += take * (p[i] - a[i]);
  });
}

}  // namespace

WeightAverage::WeightAverage(ParameterSet& parameters, double decay)
    : parameters_(parameters),
      decay_(decay),
      average_(Tensor::zeros(parameters.values().shape(), parameters.values().dtype())) {
  raw::copy(parameters.values(), average_);
}

void WeightAverage::add(std::int64_t step) {
  const auto t = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + t) / (10 + t));
  const Tensor& values = parameters_.values();
  if (values.dtype() == DType::f64) move_towards<double>(average_, values, decay);
  else move_towards<float>(average_, values, decay);
}

void WeightAverage::swap() noexcept {
  Tensor& values = parameters_.values();
  auto* a = static_cast<unsigned char*>(average_.mutable_raw());
  auto* b = static_cast<unsigned char*>(values.mutable_raw());
  std::swap_ranges(a, a + static_cast<std::size_t>(values.numel()) * dtype_size(values.dtype()), b);
}

}  // namespace weft::detail
