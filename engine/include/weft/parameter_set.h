/// \file
/// ParameterSet: the values, gradients and optimizer states of a model's trainable parameters, in flat buffers.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/gradients.h"
#include "weft/parameter.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Moves the values of trainable parameters into one flat buffer. Each value becomes a view of this buffer that is
/// aligned to 64 bytes. The set is also a gradient sink. It adds up the gradients of its parameters in a second flat
/// buffer.
class ParameterSet : public GradientSink {
 public:
  /// Takes the trainable parameters and ignores frozen ones. A parameter that occurs more than once in the list is
  /// taken once. The constructor empties the current Context's memory cache, so that the memory of the previous values
  /// returns to the system. Error if there is no trainable parameter, if the dtypes differ, or if a parameter isn't
  /// writable().
  explicit ParameterSet(const NamedParameters& parameters);

  /// The position of a parameter in the flat buffers.
  struct Entry {
    std::string name;     ///< its name in the model
    Parameter parameter;  ///< its handle
    std::int64_t offset;  ///< position of its first element in the flat buffers
    std::int64_t numel;   ///< its number of elements
  };
  /// All entries, in the order of the buffers.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  std::int64_t parameter_count() const noexcept;  ///< total number of elements, without padding

  Tensor& values() noexcept { return values_; }        ///< the flat buffer of values; padding is 0
  Tensor& gradients() noexcept { return gradients_; }  ///< the flat buffer of gradients; padding is 0
  Tensor gradient(const Entry& entry) const;           ///< a view of the entry's gradient, in the parameter's shape
  /// The k-th state buffer of the optimizer, for example AdamW's m or v. The first use creates the buffer and fills it
  /// with zeros.
  Tensor& state(std::size_t k);
  /// The number of state buffers.
  std::size_t states() const noexcept { return states_.size(); }

  /// Sets all gradients to 0. Call this before the first backward of a step.
  void zero_gradients();
  void begin(const std::vector<Leaf>& leaves) override;
  /// Adds the gradient to the buffer. Leaves outside this set are ignored. Error if another set has taken over the
  /// parameter.
  void complete(const Leaf& leaf, Tensor gradient) override;
  /// Error if the result depends on no trainable parameter of this set, for example because the set belongs to another
  /// model. The gradients have then not changed.
  void end() override;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<const void*, std::size_t> index_;
  Tensor values_, gradients_;
  std::vector<Tensor> states_;
  bool received_ = false;  // a gradient since begin()
};

}  // namespace weft
WEFT_PUBLIC_END
