/// \file
/// Activation recomputation: saves memory at the cost of time (Chen et al. 2016, arXiv 1604.06174).
#pragma once
#include <functional>

#include "weft/op.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A part of a forward pass that maps its inputs to its result.
using Recomputed = std::function<Tensor(const Inputs& in)>;

/// Returns fn(in). The current tape saves only the inputs, and backward runs fn again and differentiates this second
/// run. If each of a model's L layers runs through recompute, a training step holds the inputs of all L layers but the
/// saved tensors of only one layer at a time. Recomputation takes the time of one more forward pass. Without a tape,
/// recompute only calls fn(in).
///
/// fn must compute the same result in every run. Until the tape's backward is done, everything that fn refers to must
/// exist and stay unchanged. Random numbers must be the same in each run (weft/random.h). fn may read any parameters,
/// whose gradients go to the same sink as all others. fn may call recompute itself.
///
/// The gradients have the same bits as those of fn(in) without recomputation, even for parameters and inputs that the
/// program also uses elsewhere. They may differ by rounding in two cases. In the first case, an input or the result is
/// a slice of another tensor and is used at least three times. In the second case, fn returns one of its inputs, and
/// the program uses both this input and the result afterwards.
///
/// Error if fn is empty, or if fn reads a tensor on the current tape that isn't in `in`. Error in backward if the
/// second run of fn reads other parameters, or returns a tensor of another shape or dtype.
Tensor recompute(Recomputed fn, const Inputs& in);

}  // namespace weft
WEFT_PUBLIC_END
