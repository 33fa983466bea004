"""weft's operations for PyTorch, differentiable: on CPUs several times as fast as torch.fft.

>>> import weft.torch
>>> y = weft.torch.toeplitz_product(x, t, causal=True)   # in place of irfft(rfft(x) * rfft(t))
>>> y = weft.torch.fourier_mix(x)                        # in place of fft2(x).real

Inputs and results are not copied. Tensors on other devices, or with dtypes other than float32, float64 and
bfloat16, are refused.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch.autograd.function import once_differentiable

from . import _weft

__all__ = ["FourierMix", "ToeplitzProduct", "fourier_mix", "toeplitz_product"]


class ToeplitzProduct(torch.autograd.Function):
    """`toeplitz_product` as a Function: ToeplitzProduct.apply(x, t, causal). It can be differentiated once."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, t: torch.Tensor, causal: bool = False) -> torch.Tensor:
        ctx.save_for_backward(x, t)
        ctx.causal = causal
        y: torch.Tensor = _weft.toeplitz_product(x.detach(), t.detach(), causal, "automatic", True)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Optional[torch.Tensor], Optional[torch.Tensor], None]:
        x, t = ctx.saved_tensors
        dx, dt = _weft.toeplitz_gradients(x.detach(), t.detach(), gradient.detach(), ctx.causal, "automatic",
                                          ctx.needs_input_grad[0], ctx.needs_input_grad[1], True)
        return dx, dt, None


class FourierMix(torch.autograd.Function):
    """`fourier_mix` as a Function: FourierMix.apply(x, sequence_dim, hidden_dim). Its gradient is itself."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, sequence_dim: int = -2, hidden_dim: int = -1) -> torch.Tensor:
        ctx.axes = sequence_dim, hidden_dim
        y: torch.Tensor = _weft.fourier_mix(x.detach(), sequence_dim, hidden_dim, True)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return fourier_mix(gradient, *ctx.axes), None, None


def toeplitz_product(x: torch.Tensor, t: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """TNN's mixing (arXiv 2305.04749): y_i = sum over j of t_(i-j) x_j, in O(n log n).

    x: (b, h, n, d), float32, float64, or bfloat16 with a float32 t
    t: (h, 2n-1, d), lags -(n-1) … n-1; causal: (h, n, d), lags 0 … n-1, the sum over j <= i
    """
    y: torch.Tensor = ToeplitzProduct.apply(x, t, causal)  # type: ignore[no-untyped-call]
    return y


def fourier_mix(x: torch.Tensor, sequence_dim: int = -2, hidden_dim: int = -1) -> torch.Tensor:
    """FNet's mixing (arXiv 2105.03824): the real part of the Fourier transforms along both axes, not normalized."""
    y: torch.Tensor = FourierMix.apply(x, sequence_dim, hidden_dim)  # type: ignore[no-untyped-call]
    return y
