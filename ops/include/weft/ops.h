/// \file
/// Every differentiable operation, by families. Each gives a new tensor and leaves its inputs as they were; each throws
/// weft::Error, naming itself and the shapes, if its arguments don't fit, and if memory runs out. "…" stands for any
/// number of axes; negative dims count from the end. An undefined Tensor() stands for an argument that is left out. Any
/// thread may call them; each runs on the threads of the calling thread's current Context.
///
/// Real tensors are f32 or f64. Those of weft/shape.h and weft/rows.h, the real ones of weft/pointwise.h, fourier_mix,
/// toeplitz_product and circulant_product also take bf16: they read it, compute in f32 and round each element of the
/// result once, to bf16; gradients of bf16 tensors are bf16. Weights and biases of norms and coefficients of products are
/// f32 beside a bf16 x. cast converts.
#pragma once
#include "weft/dense.h"
#include "weft/pointwise.h"
#include "weft/quantized.h"
#include "weft/rows.h"
#include "weft/shape.h"
#include "weft/spectral.h"
#include "weft/tape.h"
