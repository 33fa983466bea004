// Every update rule. A new one is a file beside this one, its include and its name in the list.
#pragma once
#include "pointwise/optimizers/adam.h"
#include "pointwise/optimizers/lion.h"
#include "pointwise/optimizers/sgd.h"

namespace weft::detail {

using Rules = RuleList<AdamW, Adam, Sgd, Lion>;

}  // namespace weft::detail
