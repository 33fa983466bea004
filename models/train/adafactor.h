// Adafactor, an optimizer that keeps one number for each row and each column of a matrix.
#pragma once
#include "weft/optimizer.h"

namespace weft::detail {

OptimizerKind adafactor();

}  // namespace weft::detail
