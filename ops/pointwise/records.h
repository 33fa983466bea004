// Operations of this family as records, for code that computes their values in another pass (base/fused.h).
#pragma once
#include <memory>

#include "weft/activation.h"
#include "weft/op.h"

namespace weft::detail {

// y = f(x), cheap.
std::unique_ptr<Op> activation_op(Activation f);

// in: gate and x, both of shape (…, n). y = gate ⊙ f(x), cheap. `name` is the operation that records it.
std::unique_ptr<Op> gate_op(const char* name, Activation f);

// a + b
std::unique_ptr<Op> add_op();

}  // namespace weft::detail
