/// \file
/// Activation recomputation: saves memory at the cost of time (Chen et al. 2016, arXiv 1604.06174).
#pragma once
#include <functional>

#include "weft/op.h"

#pragma GCC visibility push(default)
namespace weft {

/// A part of a forward pass that maps its inputs to its result.
using Recomputed = std::function<Tensor(const Inputs& in)>;

/// Returns fn(in). The current tape keeps only the inputs: backward runs fn again and differentiates that run. If each
/// of a model's L layers goes through this function, training needs the memory of L inputs and of one layer, and one
/// more forward pass. Without a tape it is just fn(in).
///
/// fn must do the same on every run, up to the tape's backward. Everything that it refers to must live that long and
/// stay unchanged, and its random numbers must be the same (weft/random.h). It may read any parameters; their gradients
/// go to the same sink. It may call recompute itself.
///
/// The gradients have the same bits as those of fn(in) without recomputation. This includes parameters and inputs that
/// are used elsewhere, too. The gradients may differ by rounding in two cases: an input or the result is a slice of
/// another tensor and is used at least three times; or fn returns one of its inputs and both are used further.
///
/// Error if fn is empty, or if fn reads a tensor on the current tape that isn't in `in`. Error in backward if fn then
/// reads other parameters or returns another shape.
Tensor recompute(Recomputed fn, const Inputs& in);

}  // namespace weft
#pragma GCC visibility pop
