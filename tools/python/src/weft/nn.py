"""Layers, and a base class for models that consist of layers.

>>> class Model(weft.nn.Module):
...     def __init__(self, vocabulary, d, length):
...         self.embedding = weft.nn.Embedding(vocabulary, d)
...         self.blocks = [weft.nn.GmlpBlock(d, 4 * d, length) for _ in range(4)]
...         self.norm = weft.nn.LayerNorm(d)
...         self.head = weft.nn.Linear(d, vocabulary)
...
...     def __call__(self, tokens):
...         x = self.embedding(tokens)
...         for block in self.blocks:
...             x = block(x, causal=True)
...         return self.head(self.norm(x))

Sequences have the shape (b, n, d). The initial parameters of a layer are random numbers. Their seed depends on `seed`
and on the number of layers made before. A model belongs to the thread that trains it. Other threads may use the model
only while no training step runs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _weft
from ._arguments import checked, config_json

__all__ = ["Embedding", "FnetLayer", "GmlpBlock", "LayerNorm", "Linear", "Module", "TnnLayer", "seed"]

_Kind = TypeVar("_Kind", bound=type)

_seed, _made = 1, 0


@checked
def seed(value: int) -> None:
    """Sets the seed of all layers that are made after this call."""
    global _seed, _made
    _seed, _made = int(value), 0


def _next_seed() -> int:
    global _made
    _made += 1
    return (_seed * 0x9E3779B97F4A7C15 + _made) % 2**64


def _reduce_layer(layer: Any) -> tuple[Any, ...]:
    """The __reduce__ of each layer, which pickle and copy call.

    It returns what makes the copy: the class, the class of weft.nn and the arguments that made the layer (`_made_by`),
    the values of the parameters, and the other attributes.

    A copy has its own parameters, even if copy.copy made it. If an attribute of a module is a parameter of one of its
    layers (tied weights), the two are separate parameters in the copy."""
    state = {name: (_weft.Parameter(parameter), parameter.trainable) for name, parameter in layer.named_parameters()}
    return _layer_again, (type(layer), *layer._made_by, state), vars(layer)


def _layer_again(kind: type, base: type, args: Any, options: Any, state: Any) -> Any:
    """A layer that base.__init__ makes, with these parameters. pickle then restores the other attributes."""
    global _made
    before = _made
    layer = kind.__new__(kind)
    try:
        base.__init__(layer, *args, **options)
    finally:
        _made = before  # so that copies of layers don't change the seeds of others
    for name, parameter in layer.named_parameters():
        value, trainable = state[name]
        parameter.assign(value)
        parameter.trainable = trainable
    return layer


def _layer(kind: _Kind) -> _Kind:
    """A decorator for the classes of layers: checks arguments, and records those of __init__ for copies.

    Layers have no common base class, because a class that derives from a class of the C++ module can't have a second
    base class."""
    initialize = checked(kind.__init__)

    @functools.wraps(initialize)
    def record(self: Any, *args: Any, **options: Any) -> None:
        initialize(self, *args, **options)
        self._made_by = kind, args, options

    kind.__init__, kind.__call__, kind.__reduce__ = record, checked(kind.__call__), _reduce_layer  # type: ignore
    return kind


@_layer
class Linear(_weft.Linear):
    """y = x Wᵀ + b: (…, inputs) -> (…, outputs), with weight (outputs, inputs) and bias (outputs)."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, *, dtype: str = "f32") -> None:
        super().__init__(inputs, outputs, bias, _next_seed(), dtype)


@_layer
class LayerNorm(_weft.LayerNorm):
    """(x - mean) / √(variance + eps) · weight + bias over the last axis (d)."""

    def __init__(self, d: int, eps: float = 1e-5, *, dtype: str = "f32") -> None:
        super().__init__(d, eps, dtype)


@_layer
class Embedding(_weft.Embedding):
    """The rows of a matrix (count, d) at int64 indices: (…) -> (…, d). logits(x) is x times the transposed matrix.

    The initial elements of the matrix are drawn from N(0, deviation²)."""

    def __init__(self, count: int, d: int, deviation: float = 1.0, *, dtype: str = "f32") -> None:
        super().__init__(count, d, deviation, _next_seed(), dtype)


@_layer
class GmlpBlock(_weft.GmlpBlock):
    """A gMLP block (arXiv 2105.08050): block(x, causal=False, mask=None, random=None) with x (b, n, d),
    where n is at most `length`.

    d_ffn: the number of channels between the two projections, which must be even. mask: (n, n, 1) or (1, n, 1), with 1
    for positions that the block may use and 0 for all others. The block applies dropout if `random` is a
    `weft.Random`."""

    def __init__(self, d: int, d_ffn: int, length: int, dropout: float = 0.0, *, dtype: str = "f32") -> None:
        super().__init__(d, d_ffn, length, dropout, _next_seed(), dtype)


@_layer
class FnetLayer(_weft.FnetLayer):
    """An FNet layer (arXiv 2105.03824): layer(x, random=None) with x (b, n, d).

    norm: the place of the norms: "post", after each residual sum, as in the paper, or "pre". The layer applies dropout
    if `random` is a `weft.Random`."""

    def __init__(self, d: int, d_ffn: int, norm: str = "post", dropout: float = 0.0, activation: str = "gelu_tanh", *,
                 dtype: str = "f32") -> None:
        super().__init__(d, d_ffn, norm, dropout, activation, _next_seed(), dtype)


@_layer
class TnnLayer(_weft.TnnLayer):
    """A TNN layer (arXiv 2305.04749): layer(x, random=None) with x (b, n, d), for any n.

    config: options of the architecture, such as expand_ratio=1.0 or gamma=0.9 (`weft info --arch tnn` lists them). The
    layer applies dropout if `random` is a `weft.Random`."""

    def __init__(self, d: int, causal: bool = False, *, dtype: str = "f32", **config: Any) -> None:
        super().__init__(d, config_json(config), causal, _next_seed(), dtype)


def _parameters(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, _weft.Parameter]]:
    """The parameters in a value, with their names. seen: the ids of the modules and containers visited so far."""
    if isinstance(value, _weft.Parameter):
        yield name, value
        return
    if isinstance(value, Module):
        parts = vars(value)
    elif isinstance(value, dict):
        parts = value
    elif isinstance(value, (list, tuple)):
        parts = dict(enumerate(value))
    elif hasattr(value, "named_parameters"):  # a layer
        for inner, parameter in value.named_parameters():
            yield f"{name}.{inner}", parameter
        return
    else:
        return
    if id(value) in seen:  # a cycle, such as a child module with a reference to its parent
        return
    seen.add(id(value))
    for key, part in parts.items():
        yield from _parameters(f"{name}.{key}" if name else str(key), part, seen)


class Module:
    """A base class for models. The parameters of a model are those of its attributes.

    Attributes may be layers, modules, parameters, or lists, tuples and dictionaries of them."""

    def named_parameters(self) -> list[tuple[str, _weft.Parameter]]:
        """The parameters with their names, such as "blocks.0.proj1.weight"."""
        return list(_parameters("", self, set()))

    def __repr__(self) -> str:
        count = sum(int(np.prod(parameter.shape)) for _, parameter in self.named_parameters())
        return f"<{type(self).__name__}, {count} parameters>"

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of the parameters as numpy arrays, by name."""
        return {name: np.array(parameter.numpy()) for name, parameter in self.named_parameters()}

    @checked
    def load_state(self, state: Mapping[str, Any]) -> None:
        """Sets all parameters to these arrays. Raises an Error and sets none if names, shapes or dtypes differ."""
        own = dict(self.named_parameters())
        if own.keys() != state.keys():
            missing, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
            raise _weft.Error(f"[nn] expected the parameters of the model; missing: {missing}, unknown: {unknown}")
        for name, parameter in own.items():
            if tuple(state[name].shape) != parameter.shape:
                raise _weft.Error(f"[nn] {name}: expected shape {parameter.shape}, got {tuple(state[name].shape)}")
        values = {name: _weft.Tensor(state[name]) for name in own}
        for name, parameter in own.items():
            if values[name].dtype != parameter.dtype:
                raise _weft.Error(f"[nn] {name}: expected dtype {parameter.dtype}, got {values[name].dtype}")
        for name, parameter in own.items():
            parameter.assign(values[name])

    @checked
    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the parameters to a safetensors file."""
        _weft.save_tensors(os.fspath(path), self.named_parameters())

    @checked
    def load(self, path: Union[str, os.PathLike[str]]) -> None:
        """Sets the parameters to those of a safetensors file, which `save`, PyTorch or another program wrote."""
        self.load_state(_weft.load_tensors(os.fspath(path)))

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __call__, which must compute the forward pass")
