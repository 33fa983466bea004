"""Optimizers and learning rates.

>>> optimizer = weft.optim.AdamW(model, lr=2e-3)
>>> rate = weft.optim.schedule("cosine", peak=2e-3, warmup=100, steps=1000)
>>> for step in range(1, 1001):
...     with weft.Tape() as tape:
...         tape.backward(weft.ops.cross_entropy(model(tokens), targets), optimizer)
...     optimizer.step(rate(step))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from . import _weft

__all__ = ["Adafactor", "Adam", "AdamW", "Lion", "Muon", "Optimizer", "SGD", "schedule"]


class Optimizer(_weft.Optimizer):
    """An optimizer by the name of `weft train --optimizer`, with its own options, such as momentum=0.9.

    parameters: a module or layer, or a list of (name, weft.Parameter). They move into the memory of the optimizer, and
        belong to one optimizer at a time.
    weight_decay: of matrices; None: the optimizer's default
    clip: the maximum norm of the gradients; 0: no limit
    """

    def __init__(self, parameters: Any, name: str = "adamw", lr: float = 1e-3, *,
                 weight_decay: Union[float, None] = None, clip: float = 1.0, **own: float) -> None:
        named = parameters.named_parameters() if hasattr(parameters, "named_parameters") else list(parameters)
        super().__init__(named, name, lr, {key.replace("_", "-"): value for key, value in own.items()}, weight_decay, clip)


class AdamW(Optimizer):
    """AdamW. Options: beta1, beta2, eps."""

    def __init__(self, parameters: Any, lr: float = 1e-3, **options: Any) -> None:
        super().__init__(parameters, "adamw", lr, **options)


class Adam(Optimizer):
    """Adam. Options: beta1, beta2, eps."""

    def __init__(self, parameters: Any, lr: float = 1e-3, **options: Any) -> None:
        super().__init__(parameters, "adam", lr, **options)


class SGD(Optimizer):
    """Stochastic gradient descent. Option: momentum."""

    def __init__(self, parameters: Any, lr: float = 1e-2, **options: Any) -> None:
        super().__init__(parameters, "sgd", lr, **options)


class Lion(Optimizer):
    """Lion (arXiv 2302.06675). Options: beta1, beta2."""

    def __init__(self, parameters: Any, lr: float = 1e-4, **options: Any) -> None:
        super().__init__(parameters, "lion", lr, **options)


class Muon(Optimizer):
    """Muon for matrices, AdamW for everything else. Option: momentum."""

    def __init__(self, parameters: Any, lr: float = 1e-3, **options: Any) -> None:
        super().__init__(parameters, "muon", lr, **options)


class Adafactor(Optimizer):
    """Adafactor (arXiv 1804.04235), with half of AdamW's memory. Options: those of `weft train --help`, with _ for -."""

    def __init__(self, parameters: Any, lr: float = 1e-2, **options: Any) -> None:
        super().__init__(parameters, "adafactor", lr, **options)


def schedule(name: str = "cosine", *, peak: float, warmup: int = 100, steps: int = 2000,
             floor: float = 0.0) -> Callable[[int], float]:
    """The learning rate of each step, counted from 1: "constant", "cosine", "linear" or "inverse-sqrt".

    peak: the highest rate, after `warmup` steps; floor: the last one as a fraction of the peak
    """
    _weft.learning_rate(name, peak, warmup, steps, floor, 1)  # raises errors here
    return lambda step: _weft.learning_rate(name, peak, warmup, steps, floor, step)
