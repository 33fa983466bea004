// What products keep of a weight between calls: the layers that own a parameter have one.
#pragma once
#include <memory>
#include <mutex>

#include "weft/layers.h"

namespace weft::detail {

// Calls may come from several threads, as long as nobody writes the parameter, which is the same in all of them.
class KeptWeight {
 public:
  // x Wᵀ + b with the epilogue, W of any of the forms that a parameter may have.
  Tensor linear(const Tensor& x, const Parameter& weight, const Tensor& bias, const Epilogue& epilogue);
  // Rows of W, f32 if it is quantised.
  Tensor embedding(const Tensor& indices, const Parameter& weight);

 private:
  std::shared_ptr<const PackedWeight> packed(const Parameter& weight, bool few, DType dtype);
  std::shared_ptr<const QuantizedWeight> quantized(const Parameter& weight);

  std::mutex mutex_;
  std::shared_ptr<const PackedWeight> packed_;        // latest
  std::shared_ptr<const QuantizedWeight> quantized_;  // of an i8 weight,
  const void* quantized_of_ = nullptr;                // this parameter's
  int calls_ = 0;  // that read the weight in its file; one with many rows counts as first_calls
};

}  // namespace weft::detail
