/// \file
/// Every differentiable operation, by families. Each gives a new tensor and leaves its inputs as they were; each throws
/// weft::Error, naming itself and the shapes, if its arguments don't fit, and if memory runs out. "…" stands for any
/// number of axes; negative dims count from the end. An undefined Tensor() stands for an argument that is left out. Any
/// thread may call them; each runs on the threads of the calling thread's current Context.
#pragma once
#include "weft/dense.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"
#include "weft/spectral.h"
#include "weft/tape.h"
