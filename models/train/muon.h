// Muon, an optimizer for matrices.
#pragma once
#include "weft/optimizer.h"

namespace weft::detail {

OptimizerKind muon();

}  // namespace weft::detail
