/// \file
/// Activation recomputation: memory for time (Chen et al. 2016, arXiv 1604.06174).
#pragma once
#include <functional>

#include "weft/op.h"

#pragma GCC visibility push(default)
namespace weft {

/// A part of a forward pass: its inputs -> its result.
using Recomputed = std::function<Tensor(const Inputs& in)>;

/// fn(in), of which the current tape keeps the inputs alone: backward runs fn again, and differentiates that. A model of L
/// layers, each of which goes through here, needs the memory of L inputs and one layer, and one forward pass more. Without a
/// tape it is fn(in).
///
/// fn must do the same whenever it runs, up to the tape's backward: what it refers to must live as long and stay as it is,
/// and its random numbers must be the same (weft/random.h). It may read any parameters, whose gradients go where all others
/// go, and may itself recompute. Gradients are those of fn(in) without recomputation, bit by bit, also of parameters and
/// inputs that are used elsewhere. They may differ by rounding in two cases: where an input or the result is a slice of
/// another tensor, and is used three times or more; and where fn returns an input itself, and both are used further. Error if
/// fn is none, for a tensor on the current tape that fn reads and that isn't in `in`, and in backward if fn then reads other
/// parameters or gives another shape.
Tensor recompute(Recomputed fn, const Inputs& in);

}  // namespace weft
#pragma GCC visibility pop
