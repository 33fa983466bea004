/// \file
/// ParameterSet: the values, gradients and optimizer state of a model, each in one flat buffer.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/gradients.h"
#include "weft/parameter.h"

#pragma GCC visibility push(default)
namespace weft {

/// Moves the trainable parameters' values into one buffer (each becomes a view of it, aligned to 64 bytes) and is
/// the sink that adds up their gradients in another.
class ParameterSet : public GradientSink {
 public:
  /// Frozen parameters are left out; one that comes twice counts once. Empties the current Context's memory cache, so
  /// that the former values' memory goes back to the system.
  /// Error if there is none, if their dtypes differ, or if one isn't writable().
  explicit ParameterSet(const NamedParameters& parameters);

  /// A parameter's place in the flat buffers.
  struct Entry {
    std::string name;     ///< in the model
    Parameter parameter;  ///< its handle
    std::int64_t offset;  ///< of the first element in the flat buffers
    std::int64_t numel;   ///< its elements
  };
  /// In the order of the buffers.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  std::int64_t parameter_count() const noexcept;  ///< elements, padding aside

  Tensor& values() noexcept { return values_; }        ///< flat, padding zero
  Tensor& gradients() noexcept { return gradients_; }  ///< flat, padding zero
  Tensor gradient(const Entry& entry) const;           ///< in the parameter's shape
  /// The k-th state buffer (zeros when first asked for), e.g. AdamW's m and v.
  Tensor& state(std::size_t k);
  /// How many state buffers there are.
  std::size_t states() const noexcept { return states_.size(); }

  /// Before a step's first backward.
  void zero_gradients();
  /// Error if another set has taken over the parameter since.
  void complete(const Leaf& leaf, Tensor gradient) override;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<const void*, std::size_t> index_;
  Tensor values_, gradients_;
  std::vector<Tensor> states_;
};

}  // namespace weft
#pragma GCC visibility pop
