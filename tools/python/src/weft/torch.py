"""Differentiable operations for PyTorch on CPUs, several times as fast as torch.fft.

>>> import weft.torch
>>> y = weft.torch.toeplitz_product(x, t, causal=True)   # in place of irfft(rfft(x) * rfft(t))
>>> y = weft.torch.fourier_mix(x)                        # in place of fft2(x).real

Inputs and results are not copied. The functions raise a TypeError for tensors on other devices, and for dtypes other
than float32, float64 and bfloat16.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from . import _weft

__all__ = ["FourierMix", "ToeplitzProduct", "fourier_mix", "toeplitz_product"]


class ToeplitzProduct(torch.autograd.Function):
    """`toeplitz_product` as an autograd function: ToeplitzProduct.apply(x, t, causal)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, t: torch.Tensor, causal: bool = False) -> torch.Tensor:
        ctx.save_for_backward(x, t)
        ctx.causal = causal
        y: torch.Tensor = _weft.toeplitz_product(x.detach(), t.detach(), causal, "automatic", True)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Optional[torch.Tensor], Optional[torch.Tensor], None]:
        dx, dt = _gradients(*ctx.saved_tensors, gradient, ctx.causal, *ctx.needs_input_grad[:2])
        return dx, dt, None


class _ToeplitzGradients(torch.autograd.Function):
    """The gradients dx and dt of y = T(t) x for the cotangent dy. A gradient that is not needed is None.

    This function can itself be differentiated, any number of times. For any p and q with the shapes of dx and dt,
    <p, dx> + <q, dt> = <T(t) p + T(q) x, dy>. For the cotangents p and q of dx and dt, the gradient with respect to dy
    is therefore T(t) p + T(q) x. The gradient with respect to t is dt, computed from p and dy. The gradient with
    respect to x is dx, computed from q and dy.
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, t: torch.Tensor, dy: torch.Tensor, causal: bool, needs_x: bool,
                needs_t: bool) -> tuple[Optional[torch.Tensor], Optional[torch.Tensor]]:
        ctx.save_for_backward(x, t, dy)
        ctx.causal = causal
        ctx.set_materialize_grads(False)
        gradients: tuple[Optional[torch.Tensor], Optional[torch.Tensor]] = _weft.toeplitz_gradients(
            x.detach(), t.detach(), dy.detach(), causal, "automatic", needs_x, needs_t, True)
        return gradients

    @staticmethod
    def backward(ctx: Any, p: Optional[torch.Tensor], q: Optional[torch.Tensor]) -> tuple[Optional[torch.Tensor], ...]:
        x, t, dy = ctx.saved_tensors
        needs_x, needs_t, needs_dy = ctx.needs_input_grad[:3]
        by_x = by_t = by_dy = None
        if p is not None:
            if needs_t:
                by_t = _gradients(p, t, dy, ctx.causal, False, True)[1]
            if needs_dy:
                by_dy = toeplitz_product(p, t, ctx.causal)
        if q is not None:
            if needs_x:
                by_x = _gradients(x, q, dy, ctx.causal, True, False)[0]
            if needs_dy:
                product = toeplitz_product(x, q, ctx.causal)
                by_dy = product if by_dy is None else by_dy + product
        return by_x, by_t, by_dy, None, None, None


def _gradients(x: torch.Tensor, t: torch.Tensor, dy: torch.Tensor, causal: bool, needs_x: bool,
               needs_t: bool) -> tuple[Optional[torch.Tensor], Optional[torch.Tensor]]:
    gradients: tuple[Optional[torch.Tensor], Optional[torch.Tensor]] = _ToeplitzGradients.apply(
        x, t, dy, causal, needs_x, needs_t)  # type: ignore[no-untyped-call]
    return gradients


class FourierMix(torch.autograd.Function):
    """`fourier_mix` as an autograd function: FourierMix.apply(x, sequence_dim, hidden_dim).

    The operation is linear and symmetric, so its backward pass is the same operation."""

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

    x: (b, h, n, d), float32, float64 or bfloat16
    t: (h, 2n-1, d) for the lags -(n-1) … n-1, with the dtype of x, but float32 for a bfloat16 x
    causal: sums only over j <= i; t then is (h, n, d), for the lags 0 … n-1
    """
    y: torch.Tensor = ToeplitzProduct.apply(x, t, causal)  # type: ignore[no-untyped-call]
    return y


def fourier_mix(x: torch.Tensor, sequence_dim: int = -2, hidden_dim: int = -1) -> torch.Tensor:
    """FNet's mixing (arXiv 2105.03824): the real part of the Fourier transform along both axes, not normalized."""
    y: torch.Tensor = FourierMix.apply(x, sequence_dim, hidden_dim)  # type: ignore[no-untyped-call]
    return y
