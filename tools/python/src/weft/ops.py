"""Operations on tensors. Arguments are `weft.Tensor`, `weft.Parameter` or arrays. A `weft.Tape` records the operations.

The names, broadcasting and axes are those of numpy. The names of losses are those of PyTorch. `ops/OPERATIONS.md` in
weft's source code compares the operations of weft, numpy and PyTorch. Operations of one tensor are also methods:
``weft.ops.sum(x, axis=0)`` is ``x.sum(axis=0)``. Lists of numbers, and integers other than int64, are converted as by
`weft.tensor`. If two operands have different real dtypes, the result has the more precise dtype. Integers can be
selected, compared and counted. For arithmetic, convert them to real numbers with `cast`. `var` divides by n - 1, as in
PyTorch.
"""

from __future__ import annotations

from typing import Any

from . import _weft
from ._arguments import checked
from ._weft import (  # noqa: A004
    abs, add, angle, arange, argmax, argmin, binary_cross_entropy_with_logits, cast, chunk, circulant_product,
    clamp, complex, concat, conj, conv1d, cos, cross_entropy, cumprod, cumsum, div, dropout, einsum, embedding,
    equal, erf, exp, expand, expm1, fft, flip, gather, gelu, greater, greater_equal, huber_loss, ifft, imag,
    index_select, irfft, kl_divergence, l1_loss, layer_norm, less, less_equal, linear, log, log1p, log_softmax,
    logsumexp, matmul, max, max_pool1d, maximum, mean, mean_pool1d, min, minimum, mse_loss, mul, norm, not_equal,
    one_hot, pad, permute, pow, real, reciprocal, relu, reshape, rfft, rms_norm, roll, rsqrt, scatter_add, sigmoid,
    sign, silu, sin, softmax, softplus, spatial_gate, split, sqrt, square, squeeze, stack, sub, sum, tanh, topk,
    transpose, tril, triu, unsqueeze, var, where)
from ._weft import tensor_fourier_mix as fourier_mix
from ._weft import tensor_toeplitz_product as toeplitz_product

_METHODS = ["abs", "angle", "argmax", "argmin", "cast", "chunk", "clamp", "conj", "cos", "cumprod", "cumsum", "erf",
            "exp", "expand", "expm1", "fft", "flip", "gather", "gelu", "ifft", "imag", "index_select", "irfft", "log",
            "log1p", "log_softmax", "logsumexp", "max", "mean", "min", "norm", "pad", "permute", "pow", "real",
            "reciprocal", "relu", "reshape", "rfft", "roll", "rsqrt", "scatter_add", "sigmoid", "sign", "silu", "sin",
            "softmax", "softplus", "split", "sqrt", "square", "squeeze", "sum", "tanh", "topk", "transpose", "tril",
            "triu", "unsqueeze", "var"]

__all__ = sorted({name for name in globals() if not name.startswith("_")} - {"annotations", "Any", "checked"})

for _name in __all__:
    globals()[_name] = checked(globals()[_name])
    globals()[_name].__module__ = __name__


def _method(name: str) -> Any:
    function = globals()[name]

    def method(self: Any, *args: Any, **options: Any) -> Any:
        if name in ("reshape", "permute", "expand") and args and not isinstance(args[0], (tuple, list)):
            args = (args,)  # x.reshape(2, 3) is the same as x.reshape((2, 3))
        return function(self, *args, **options)

    method.__name__ = name
    method.__doc__ = f"Computes weft.ops.{name} of this tensor."
    return method


for _type in (_weft.Tensor, _weft.Parameter):
    for _name in _METHODS:
        setattr(_type, _name, _method(_name))
    _type.tolist = lambda self: self.numpy().tolist()
    _type.T = property(lambda self: permute(self, tuple(range(self.ndim))[::-1]))
del _name, _type
