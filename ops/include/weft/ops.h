/// \file
/// All differentiable operations, and the rules that they share. Each operation returns a new tensor and leaves its
/// inputs unchanged. If the arguments are invalid or memory runs out, the operation throws a weft::Error. The message
/// begins with the name of the operation and, if shapes are invalid, states these shapes. In the descriptions of
/// shapes, "…" stands for any number of axes. Negative dims count from the last axis. An undefined Tensor() stands for
/// an omitted argument. Any thread may call operations. An operation runs on the threads of the calling thread's
/// current Context.
///
/// Real tensors are f32 or f64. Many operations also take bf16: those of weft/shape.h, weft/rows.h and weft/dense.h,
/// the real ones of weft/pointwise.h, fourier_mix, toeplitz_product and circulant_product. They read bf16, compute in
/// f32 and, unless stated otherwise, round each element of the result once, to bf16. Gradients of bf16 tensors are
/// bf16. With a bf16 x, the weights and biases of norms and the coefficients of Toeplitz and circulant products are
/// f32.
/// cast converts between dtypes.
#pragma once
#include "weft/dense.h"
#include "weft/pointwise.h"
#include "weft/quantized.h"
#include "weft/rows.h"
#include "weft/shape.h"
#include "weft/spectral.h"
#include "weft/tape.h"
