// Adafactor, an optimizer with one number for each row and column of a matrix.
#pragma once
#include "weft/optimizer.h"

namespace weft::detail {

OptimizerKind adafactor();

}  // namespace weft::detail
