// The second moments of the inputs of Linear layers, for rounding with error feedback.
#pragma once
#include <map>

#include "weft/parameter.h"

namespace weft::detail {

// While the object exists, KeptWeight::linear adds the inputs of each weight to their moments Σ x xᵀ (in, in), on the
// thread that made the object.
class InputMoments {
 public:
  InputMoments();
  ~InputMoments();
  InputMoments(const InputMoments&) = delete;
  InputMoments& operator=(const InputMoments&) = delete;

  // The object of this thread, or null.
  static InputMoments* current() noexcept;

  void add(const Parameter& weight, const Tensor& x);
  // The moments in f32, or an undefined tensor if the weight had no inputs.
  Tensor of(const Parameter& weight) const;
  bool empty() const noexcept { return moments_.empty(); }

 private:
  std::map<const void*, Tensor> moments_;  // by the id of the weight
  InputMoments* previous_;
};

}  // namespace weft::detail
