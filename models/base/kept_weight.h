// Keeps a packed weight between calls. Each layer that owns a weight has a KeptWeight.
#pragma once
#include <memory>
#include <mutex>

#include "weft/layers.h"

namespace weft::detail {

// Several threads may use the object at the same time, as long as no thread writes the parameter. All calls must pass
// the same parameter.
class KeptWeight {
 public:
  // Returns x Wᵀ + b with the epilogue, for a weight W in any of the formats that a parameter can have.
  Tensor linear(const Tensor& x, const Parameter& weight, const Tensor& bias, const Epilogue& epilogue);
  // Returns the rows of W with the given indices, in f32 if W is quantized.
  Tensor embedding(const Tensor& indices, const Parameter& weight);

 private:
  std::shared_ptr<const PackedWeight> packed(const Parameter& weight, bool few, DType dtype);
  std::shared_ptr<const QuantizedWeight> quantized(const Parameter& weight);

  std::mutex mutex_;
  std::shared_ptr<const PackedWeight> packed_;        // the latest one
  std::shared_ptr<const QuantizedWeight> quantized_;  // only for a weight in 8 or 4 bits
  const void* quantized_of_ = nullptr;                // the id of its parameter
  int calls_ = 0;  // calls that read the weight from its file; a call with many rows counts as `first_calls` calls
};

}  // namespace weft::detail
