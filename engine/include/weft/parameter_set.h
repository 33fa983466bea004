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

/// Moves the values of the trainable parameters into one buffer, where each becomes a view aligned to 64 bytes. It is
/// also the sink that adds up their gradients in a second buffer.
class ParameterSet : public GradientSink {
 public:
  /// Frozen parameters are omitted. A parameter that occurs twice counts once. Empties the current Context's memory
  /// cache, so that the memory of the previous values returns to the system. Error if no parameter is left, if dtypes
  /// differ, or if one isn't writable().
  explicit ParameterSet(const NamedParameters& parameters);

  /// The position of a parameter in the flat buffers.
  struct Entry {
    std::string name;     ///< its name in the model
    Parameter parameter;  ///< its handle
    std::int64_t offset;  ///< of its first element in the flat buffers
    std::int64_t numel;   ///< its number of elements
  };
  /// All entries, in the order of the buffers.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  std::int64_t parameter_count() const noexcept;  ///< number of elements without padding

  Tensor& values() noexcept { return values_; }        ///< flat, padding zero
  Tensor& gradients() noexcept { return gradients_; }  ///< flat, padding zero
  Tensor gradient(const Entry& entry) const;           ///< in the parameter's shape
  /// The k-th state buffer, e.g. AdamW's m or v. It is created on first use, filled with zeros.
  Tensor& state(std::size_t k);
  /// The number of state buffers.
  std::size_t states() const noexcept { return states_.size(); }

  /// Call this before a step's first backward.
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
