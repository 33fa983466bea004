// All update rules. A new rule needs a file in this folder, an include here, and its name in the list.
#pragma once
#include "pointwise/optimizers/adam.h"
#include "pointwise/optimizers/lion.h"
#include "pointwise/optimizers/sgd.h"

namespace weft::detail {

using Rules = RuleList<AdamW, Adam, Sgd, Lion>;

}  // namespace weft::detail
