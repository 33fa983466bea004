// Operations of this family as records, for whoever computes their values in another pass (base/fused.h).
#pragma once
#include <memory>

#include "weft/activation.h"
#include "weft/op.h"

namespace weft::detail {

// y = f(x), cheap.
std::unique_ptr<Op> activation_op(Activation f);

// in: gate, x of one shape (…, n). y = gate ⊙ f(x), cheap. `name`: of the operation that records it.
std::unique_ptr<Op> gate_op(const char* name, Activation f);

// a + b
std::unique_ptr<Op> add_op();

}  // namespace weft::detail
