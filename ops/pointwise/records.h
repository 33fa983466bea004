// Creates ops of this family for the tape, for code that computes their values in a fused pass (base/fused.h).
#pragma once
#include <memory>

#include "weft/activation.h"
#include "weft/op.h"

namespace weft::detail {

// y = f(x). The op is cheap.
std::unique_ptr<Op> activation_op(Activation f);

// in: gate and x, both of shape (…, n). y = gate ⊙ f(x). The op is cheap. `name` becomes the op's name(): the name of
// the public operation that records it.
std::unique_ptr<Op> gate_op(const char* name, Activation f);

// a + b
std::unique_ptr<Op> add_op();

}  // namespace weft::detail
