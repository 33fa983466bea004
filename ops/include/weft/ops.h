/// \file
/// Every differentiable operation, by families. Each one returns a new tensor and leaves its inputs unchanged. It
/// throws weft::Error, naming itself and the shapes, if its arguments don't fit or if memory runs out. "…" stands for
/// any number of axes. Negative dims count from the last axis. An undefined Tensor() stands for an omitted argument.
/// Any thread may call operations; each runs on the threads of the calling thread's current Context.
///
/// Real tensors are f32 or f64. Many operations also take bf16: those of weft/shape.h, weft/rows.h and weft/dense.h,
/// the real ones of weft/pointwise.h, fourier_mix, toeplitz_product and circulant_product. They read bf16, compute in
/// f32 and round each element of the result once, to bf16. Gradients of bf16 tensors are bf16. With a bf16 x, the
/// weights and biases of norms and the coefficients of Toeplitz and circulant products are f32.
/// cast converts between dtypes.
#pragma once
#include "weft/dense.h"
#include "weft/pointwise.h"
#include "weft/quantized.h"
#include "weft/rows.h"
#include "weft/shape.h"
#include "weft/spectral.h"
#include "weft/tape.h"
