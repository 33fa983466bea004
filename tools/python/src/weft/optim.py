"""Optimizers and learning rate schedules.

>>> optimizer = weft.optim.AdamW(model, lr=2e-3)
>>> rate = weft.optim.schedule("cosine", peak=2e-3, warmup=100, steps=1000)
>>> for step in range(1, 1001):
...     with weft.Tape() as tape:
...         tape.backward(weft.ops.cross_entropy(model(tokens), targets), optimizer)
...     optimizer.step(rate(step))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Union

from . import _weft
from ._arguments import checked

__all__ = ["Adafactor", "Adam", "AdamW", "Lion", "Muon", "Optimizer", "SGD", "schedule"]


class Optimizer(_weft.Optimizer):
    """An optimizer, chosen by a name that `weft train --optimizer` accepts.

    parameters: a module or layer, or a list of weft.Parameter or of (name, weft.Parameter). Parameters move into the
        memory of the optimizer, and belong to only one optimizer at a time. To freeze a parameter, set
        `trainable = False` before you make the optimizer
    weight_decay: the weight decay of matrices; None: the optimizer's default
    clip: the maximum norm of the gradients; 0: no limit
    own: options of this optimizer, such as momentum=0.9
    """

    @checked
    def __init__(self, parameters: Any, name: str = "adamw", lr: float = 1e-3, *,
                 weight_decay: Union[float, None] = None, clip: float = 1.0, **own: float) -> None:
        try:
            super().__init__(_named(parameters), name, lr, {key.replace("_", "-"): value for key, value in own.items()},
                             weight_decay, clip)
        except _weft.Error as error:
            if "its options are" not in str(error):
                raise
            raise _weft.Error(f"{error}; every optimizer also has lr, weight_decay and clip") from None

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"{type(self).__name__}: optimizers can't be pickled or copied; pickle or copy the model, and "
                        "make a new optimizer for it, which starts without the averages of earlier gradients")


_weft.Optimizer.__module__ = "weft.optim"
_weft.Optimizer.step = checked(_weft.Optimizer.step)  # type: ignore[method-assign]


def _named(parameters: Any) -> list[tuple[str, _weft.Parameter]]:
    """The parameters with their names. In a list, parameters without names are numbered."""
    if hasattr(parameters, "named_parameters"):
        return parameters.named_parameters()
    if isinstance(parameters, _weft.Parameter):
        parameters = [parameters]
    if not isinstance(parameters, Iterable):
        raise TypeError(f"parameters: expected a module, or a list of weft.Parameter, got {parameters!r}")
    named = [entry if isinstance(entry, tuple) else (str(k), entry) for k, entry in enumerate(parameters)]
    for entry in named:
        if len(entry) != 2 or not isinstance(entry[1], _weft.Parameter):
            raise TypeError("parameters: expected a module, or a list of weft.Parameter, got "
                            f"{entry[-1]!r} in the list")
    return named


class _Named(Optimizer):
    """A base class for optimizers whose name and default learning rate are members of their class."""

    _name: str
    _rate = 1e-3

    def __init__(self, parameters: Any, lr: Union[float, None] = None, *, weight_decay: Union[float, None] = None,
                 clip: float = 1.0, **own: float) -> None:
        super().__init__(parameters, self._name, self._rate if lr is None else lr, weight_decay=weight_decay, clip=clip,
                         **own)


class AdamW(_Named):
    """AdamW. Defaults: lr 1e-3, beta1 0.9, beta2 0.99, eps 1e-8, weight_decay 0.1."""

    _name = "adamw"


class Adam(_Named):
    """Adam. Defaults: lr 1e-3, beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0."""

    _name = "adam"


class SGD(_Named):
    """Stochastic gradient descent. Defaults: lr 1e-2, momentum 0.9, weight_decay 0."""

    _name, _rate = "sgd", 1e-2


class Lion(_Named):
    """Lion (arXiv 2302.06675). Defaults: lr 1e-4, beta1 0.9, beta2 0.99, weight_decay 1."""

    _name, _rate = "lion", 1e-4


class Muon(_Named):
    """Muon for matrices, AdamW for all other parameters. Defaults: lr 1e-3, momentum 0.95, weight_decay 0.1."""

    _name = "muon"


class Adafactor(_Named):
    """Adafactor (arXiv 1804.04235), which needs half of AdamW's memory. The default learning rate is 1e-2.

    `weft train --help` lists the options. Write them with _ instead of -."""

    _name, _rate = "adafactor", 1e-2


@checked
def schedule(name: str = "cosine", *, peak: float, warmup: int = 100, steps: int = 2000,
             floor: float = 0.0) -> Callable[[int], float]:
    """A function that returns the learning rate of each step. The first step is step 1.

    name: "constant", "cosine", "linear" or "inverse-sqrt"
    peak: the highest learning rate, which is reached after `warmup` steps
    floor: the learning rate of the last step, as a fraction of the peak
    """
    _weft.learning_rate(name, peak, warmup, steps, floor, 1)  # raises errors before the first step
    return lambda step: _weft.learning_rate(name, peak, warmup, steps, floor, step)
