"""Builds an ONNX graph: its nodes and constants, and the parts that all architectures share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _weft
from ._checks import ROW_TASKS, checked_config, checked_input, not_supported

_LARGEST = 2**31 - 2**20  # bytes of a file; protobuf allows less than 2 GiB


class Graph:
    """A graph that is being built. Its methods represent a value by the name of a node's output or of a constant."""

    def __init__(self, loaded: _weft.Loaded, description: dict[str, Any], tensors: dict[str, Any]) -> None:
        self.architecture, self.task, self.outputs = loaded.architecture, loaded.task, loaded.outputs
        self.config = checked_config(self.architecture, self.task, json.loads(loaded.config))
        self.max_length: int = loaded.max_length
        self.d_model: int = self.config["d_model"]
        self.reads_tokens = loaded.vocabulary > 0
        self.frames = checked_input(description.get("input") or {}, self.reads_tokens)
        self.unit: dict[str, Any] = description.get("output") or {}
        self.tensors, self._unused = tensors, set(tensors)
        self._nodes: list[Any] = []
        self._constants: dict[Any, Any] = {}
        self._memo: dict[Any, Any] = {}

    # Nodes and constants

    def add(self, op: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Adds a node with one output, and returns its name."""
        from onnx import helper

        name = result or f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float32, name: str = "") -> str:
        """A constant with this value. Equal constants are stored once."""
        from onnx import numpy_helper

        array = np.asarray(value, dtype)
        key = name or (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = numpy_helper.from_array(array, name or f"constant_{len(self._constants)}")
        return self._constants[key].name

    def ints(self, *values: int) -> str:
        """A list of integers, such as a shape or axes."""
        return self.constant(values, np.int64)

    def has(self, name: str) -> bool:
        """Whether the checkpoint has a parameter of this name."""
        return name in self.tensors

    def take(self, name: str) -> npt.NDArray[np.float32]:
        """The values of the parameter of this name. They count as used."""
        self._unused.discard(name)
        return self.tensors[name]

    def parameter(self, name: str) -> str:
        """The parameter of this name, as a constant of the graph."""
        return self.constant(self.take(name), name=name)

    def ignore(self, prefix: str) -> None:
        """Marks parameters with this prefix as unused on purpose: those of a head on which the logits do not depend."""
        self._unused = {name for name in self._unused if not name.startswith(prefix)}

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result of make() at the first call with this key, for values that several layers share."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    def check_all_used(self) -> None:
        """Raises an Error if the graph does not use a parameter, because the graph would then compute other logits."""
        if self._unused:
            raise not_supported(f"parameters {', '.join(sorted(self._unused))}")

    def finished(self) -> Any:
        """The graph with its inputs and its output `logits`."""
        from onnx import TensorProto, helper

        size = sum(len(tensor.raw_data) for tensor in self._constants.values())
        if size > _LARGEST:
            raise _weft.Error(f"[onnx] expected at most {_LARGEST} bytes of weights for an ONNX file, got {size}")
        inputs = []
        if self.reads_tokens:
            inputs.append(helper.make_tensor_value_info("tokens", TensorProto.INT64, ["b", "n"]))
        if self.frames:
            sides = [self.frames[key] for key in ("height", "width")] if self.frames["height"] else ["n"]
            shape = ["b", *sides, self.frames["channels"]]
            inputs.append(helper.make_tensor_value_info("frames", TensorProto.FLOAT, shape))
        sequence = [] if self.task in ROW_TASKS else [self.patches() or "n"]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", *sequence, self.outputs])
        return helper.make_graph(self._nodes, f"{self.architecture} {self.task}", inputs, [logits],
                                 list(self._constants.values()))

    # Sizes and positions

    def patches(self) -> int:
        """The number of patches of a picture, which is its sequence length; 0 if the model reads no pictures."""
        rows, columns = self.grid()
        return rows * columns

    def grid(self) -> tuple[int, int]:
        """The numbers of rows and columns of patches in a picture."""
        patch = self.frames.get("patch", 1)
        return self.frames.get("height", 0) // patch, self.frames.get("width", 0) // patch

    def length(self) -> str:
        """The length n of the sequence, as a list of one integer."""
        if self.patches():
            return self.ints(self.patches())
        source = "tokens" if self.reads_tokens else "frames"
        return self.once("length", lambda: self.add("Shape", source, start=1, end=2))

    def range(self, first: str, last: str) -> str:
        """The integers from first to last - 1; both are lists of one integer."""
        scalars = [self.add("Squeeze", bound, self.ints(0)) for bound in (first, last)]
        return self.add("Range", *scalars, self.constant(1, np.int64))

    def positions(self) -> str:
        """The integers 0 … n-1.

        For a longer sequence than max_length, there are only max_length integers. onnxruntime then reports an error,
        because shapes differ."""
        def make() -> str:
            if self.max_length == 0:
                return self.range(self.ints(0), self.length())
            return self.slice(self.ints(*range(self.max_length)), self.ints(0), self.length(), 0)
        return self.once("positions", make)

    def column(self, integers: str) -> str:
        """Integers (m) as f64 numbers (m, 1)."""
        return self.cast(self.add("Unsqueeze", integers, self.ints(1)), np.float64)

    # Operations

    def cast(self, x: str, dtype: Any) -> str:
        """x in another dtype."""
        from onnx import helper

        return self.add("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def times(self, x: str, factor: float, dtype: Any = np.float32) -> str:
        """x times a number."""
        return self.add("Mul", x, self.constant(factor, dtype))

    def plus(self, x: str, y: str) -> str:
        """x + y."""
        return self.add("Add", x, y)

    def slice(self, x: str, first: str, last: str, axis: int) -> str:
        """The elements first … last - 1 along an axis; both are lists of one integer."""
        return self.add("Slice", x, first, last, self.ints(axis))

    def swap(self, x: str) -> str:
        """x (b, r, c, d) -> (b, c, r, d)."""
        return self.add("Transpose", x, perm=[0, 2, 1, 3])

    def linear(self, name: str, x: str) -> str:
        """x Wᵀ + b, or x Wᵀ if the layer has no bias."""
        y = self.transposed_product(x, name + ".weight")
        return self.plus(y, self.parameter(name + ".bias")) if self.has(name + ".bias") else y

    def transposed_product(self, x: str, weight: str) -> str:
        """x Wᵀ, where `weight` is the name of the parameter W (out, in)."""
        transposed = self.once(("transposed", weight),
                               lambda: self.add("Transpose", self.parameter(weight), perm=[1, 0]))
        return self.add("MatMul", x, transposed)

    def layer_norm(self, name: str, x: str, eps: float = 1e-5) -> str:
        """Layer normalization over the last axis.

        The graph subtracts the mean first, because onnxruntime computes the variance as the mean of the squares minus
        the square of the mean. This difference is inaccurate for a row with a large mean."""
        centered = self.add("Sub", x, self.add("ReduceMean", x, self.ints(-1)))
        weight, bias = self.parameter(name + ".weight"), self.parameter(name + ".bias")
        return self.add("LayerNormalization", centered, weight, bias, axis=-1, epsilon=eps)

    def activation(self, name: str, x: str) -> str:
        """The activation of this name (weft/activation.h)."""
        made = {
            "none": lambda: x,
            "relu": lambda: self.add("Relu", x),
            "gelu": lambda: self.add("Gelu", x),
            "gelu_tanh": lambda: self.add("Gelu", x, approximate="tanh"),
            "silu": lambda: self.add("Mul", x, self.add("Sigmoid", x)),
            "elu": lambda: self.add("Elu", x),
            "1+elu": lambda: self.plus(self.add("Elu", x), self.constant(1)),
            "2+elu": lambda: self.plus(self.add("Elu", x), self.constant(2)),
            "sigmoid": lambda: self.add("Sigmoid", x),
            "tanh": lambda: self.add("Tanh", x),
            "exp": lambda: self.add("Exp", x),
            "leaky_relu": lambda: self.add("LeakyRelu", x, alpha=0.01),
        }
        if name not in made:
            raise not_supported(f'activation "{name}"', made)
        return made[name]()

    # Inputs and outputs

    def embedded(self, prefix: str, table: str, scaled: bool) -> str:
        """The embedding of tokens, times √d_model if `scaled`, or the embedding of frames, (b, n, d_model)."""
        if self.frames:
            return self.embedded_frames(prefix + "frames")
        x = self.add("Gather", self.parameter(table), "tokens")
        return self.times(x, math.sqrt(self.d_model)) if scaled else x

    def embedded_frames(self, name: str) -> str:
        """W ((frames - mean) / deviation) + b, plus the position embeddings of frames."""
        x, frames = "frames", self.frames
        if frames["mean"]:
            factor = 1 / np.asarray(frames["deviation"])
            x = self.add("Mul", self.add("Sub", x, self.constant(frames["mean"])), self.constant(factor))
        x = self.linear(name + ".projection", self.patches_of(x) if self.patches() else x)
        if frames["positions"] == "learned":
            return self.plus(x, self.add("Gather", self.parameter(name + ".positions"), self.positions()))
        return self.plus(x, self.sinusoids()) if frames["positions"] == "sinusoidal" else x

    def patches_of(self, pictures: str) -> str:
        """(b, height, width, channels) -> (b, patches, numbers of a patch)."""
        (rows, columns), p, channels = self.grid(), self.frames["patch"], self.frames["channels"]
        cut = self.add("Reshape", pictures, self.ints(-1, rows, p, columns, p, channels))
        ordered = self.add("Transpose", cut, perm=[0, 1, 3, 2, 4, 5])
        return self.add("Reshape", ordered, self.ints(-1, rows * columns, p * p * channels))

    def sinusoids(self) -> str:
        """Sinusoidal positions (n, d_model): sines in even channels and cosines in odd channels.

        A cosine is computed as the sine a quarter of a period later."""
        def make() -> str:
            channel = np.arange(self.d_model)
            rates, quarter = 10000.0 ** -(channel // 2 * 2 / self.d_model), channel % 2 * (math.pi / 2)
            angles = self.add("Mul", self.column(self.positions()), self.constant(rates, np.float64))
            return self.cast(self.add("Sin", self.plus(angles, self.constant(quarter, np.float64))), np.float32)
        return self.once("sinusoids", make)

    def mean_of_tokens(self, x: str) -> str:
        """The mean over the tokens of a row that are not padding, (b, d_model)."""
        if not self.reads_tokens:
            return self.add("ReduceMean", x, self.ints(1), keepdims=0)
        is_padding = self.add("Equal", "tokens", self.constant(0, np.int64))
        seen = self.add("Unsqueeze", self.cast(self.add("Not", is_padding), np.float32), self.ints(2))
        count = self.add("Max", self.add("ReduceSum", seen, self.ints(1), keepdims=0), self.constant(1))
        return self.add("Div", self.add("ReduceSum", self.add("Mul", x, seen), self.ints(1), keepdims=0), count)

    def last_token(self, x: str) -> str:
        """The last token of a row that is not padding, (b, d_model)."""
        if not self.reads_tokens:
            return self.add("Gather", x, self.constant(-1, np.int64), axis=1)
        is_token = self.add("Not", self.add("Equal", "tokens", self.constant(0, np.int64)))
        # The places of tokens, counted from 1, and 0 for padding.
        places = self.add("Mul", self.plus(self.positions(), self.constant(1, np.int64)), self.cast(is_token, np.int64))
        last = self.add("Equal", places, self.add("Max", self.add("ReduceMax", places, self.ints(1)),
                                                  self.constant(1, np.int64)))
        chosen = self.add("Unsqueeze", self.cast(last, np.float32), self.ints(2))
        return self.add("ReduceSum", self.add("Mul", x, chosen), self.ints(1), keepdims=0)

    def in_unit(self, logits: str) -> str:
        """The outputs in the unit of the targets: logits · deviation + mean if the model normalizes its targets."""
        if not self.unit.get("mean"):
            return logits
        deviation, mean = (self.constant(self.unit[key]) for key in ("deviation", "mean"))
        return self.plus(self.add("Mul", logits, deviation), mean)
