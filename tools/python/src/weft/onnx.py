"""Saved models as ONNX files, which onnxruntime and many other programs run.

>>> weft.onnx.export("news", "news.onnx")
>>> session = onnxruntime.InferenceSession("news.onnx")
>>> logits = session.run(["logits"], {"tokens": tokens})[0]

Needs the package onnx. `Model.encode` makes the tokens, and the command's tokenizer is not part of the file.
"""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any, Callable, Union

import numpy as np
import numpy.typing as npt

from ._weft import Error, Loaded

__all__ = ["export"]

_OPSET = 20
_PER_ROW = ("classifier", "regression", "multilabel")
_TASKS = ("causal-lm", "masked-lm", "tagging", *_PER_ROW)


def export(folder: Union[str, os.PathLike[str]], path: Union[str, os.PathLike[str]]) -> None:
    """Writes the model of a checkpoint's or a run's folder to an ONNX file.

    The graph has the input "tokens", int64 (b, n), and the output "logits", float32: (b, n, outputs), or (b, outputs) for
    models with one output for each row. b and n are any numbers that the model takes; token 0 is padding as in weft. The
    numbers of a regression are in their unit. Raises Error for a model that reads numbers, is quantized to int8, or has a
    task without an ONNX form.
    """
    import onnx

    loaded = Loaded(os.fspath(folder), "f32", True)
    description, tensors = _contents(loaded.bytes)
    graph = _graph_of(description, tensors)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)], producer_name="weft",
                                   ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    part = os.fspath(path) + ".part"
    onnx.save(model, part)
    os.replace(part, path)


def _contents(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[np.float32]]]:
    """The description and the parameters of a checkpoint's model.safetensors."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    description = json.loads(header.pop("__metadata__")["weft"])
    return description, {name: _array(name, entry, data, 8 + size) for name, entry in header.items()}


def _array(name: str, entry: dict[str, Any], data: bytes, start: int) -> npt.NDArray[np.float32]:
    begin, end = entry["data_offsets"]
    raw = data[start + begin:start + end]
    if entry["dtype"] == "BF16":
        values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    elif entry["dtype"] in ("F32", "F64"):
        values = np.frombuffer(raw, np.float32 if entry["dtype"] == "F32" else np.float64).astype(np.float32)
    else:
        raise Error(f"[onnx] expected parameters of f32, f64 or bf16, but {name} is {entry['dtype']}: export the "
                    "checkpoint that was quantized")
    return values.reshape(entry["shape"])


class _Graph:
    """Nodes and constants of a graph. Methods take and return names of values; lengths are int64 tensors of shape (1)."""

    def __init__(self, tensors: dict[str, npt.NDArray[np.float32]]) -> None:
        self.tensors, self.nodes, self.constants = tensors, [], {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        from onnx import helper
        output = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, value: Any, dtype: Any = np.float32, name: str = "") -> str:
        array = np.asarray(value, dtype)
        name = name or f"constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def weight(self, name: str) -> str:
        return self.constant(self.tensors[name], name=name)

    def linear(self, x: str, name: str) -> str:
        """x Wᵀ, plus the bias if there is one."""
        y = self.op("MatMul", x, self.constant(self.tensors[name + ".weight"].T, name=name + ".weight transposed"))
        return self.op("Add", y, self.weight(name + ".bias")) if name + ".bias" in self.tensors else y

    def layer_norm(self, x: str, name: str, eps: float) -> str:
        return self.op("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1,
                       epsilon=eps)

    def part(self, x: str, axis: int, begin: str, end: str) -> str:
        """x[begin:end] along an axis."""
        return self.op("Slice", x, begin, end, self.ints(axis))

    def scaled(self, x: str, factor: float) -> str:
        return self.op("Mul", x, self.constant(factor))

    def activation(self, x: str, name: str) -> str:
        if name in ("1+elu", "2+elu"):
            return self.op("Add", self.op("Elu", x), self.constant(float(name[0])))
        simple = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "elu": "Elu"}
        if name in simple:
            return self.op(simple[name], x)
        if name == "none":
            return x
        if name in ("gelu", "gelu_tanh"):
            return self.op("Gelu", x, approximate="tanh" if name == "gelu_tanh" else "none")
        if name == "silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if name == "leaky_relu":
            return self.op("LeakyRelu", x, alpha=0.01)
        raise Error(f"[onnx] the activation {name!r} has no ONNX form")

    def embedding(self, tokens: str, name: str, factor: float = 1.0) -> str:
        x = self.op("Gather", self.weight(name), tokens)
        return x if factor == 1 else self.scaled(x, factor)

    def mean_of_tokens(self, x: str, tokens: str) -> str:
        """The mean of x (b, n, d) over the tokens that are not 0: (b, d)."""
        from onnx import TensorProto
        seen = self.op("Cast", self.op("Cast", tokens, to=TensorProto.BOOL), to=TensorProto.FLOAT)
        weights = self.op("Unsqueeze", seen, self.ints(2))
        total = self.op("ReduceSum", self.op("Mul", x, weights), self.ints(1), keepdims=0)
        count = self.op("Max", self.op("ReduceSum", weights, self.ints(1), keepdims=0), self.constant(1))
        return self.op("Div", total, count)


def _graph_of(description: dict[str, Any], tensors: dict[str, npt.NDArray[np.float32]]) -> Any:
    from onnx import TensorProto, helper, numpy_helper
    arch, task = description["arch"], description["task"]
    if "input" in description:
        raise Error("[onnx] expected a model of tokens, but this one reads numbers")
    if arch not in _LOGITS or task not in _TASKS:
        raise Error(f"[onnx] expected {', '.join(_LOGITS)} with one of the tasks {', '.join(_TASKS)}, got {arch} {task}")
    graph = _Graph(tensors)
    n = graph.op("Shape", "tokens", start=1, end=2)
    y = _LOGITS[arch](graph, description["config"], task, n)
    unit = description.get("output", {})
    if unit.get("mean"):
        y = graph.op("Add", graph.op("Mul", y, graph.constant(unit["deviation"])), graph.constant(unit["mean"]))
    graph.nodes.append(helper.make_node("Identity", [y], ["logits"]))
    constants = [numpy_helper.from_array(np.array(array, order="C"), name) for name, array in graph.constants.items()]
    outputs = ["b", None] if task in _PER_ROW else ["b", "n", None]
    return helper.make_graph(graph.nodes, f"weft {arch} {task}",
                             [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["b", "n"])],
                             [helper.make_tensor_value_info("logits", TensorProto.FLOAT, outputs)], constants)


def _sinusoids(length: int, d: int) -> npt.NDArray[np.float64]:
    """Positions as in weft: sin in the even channels, cos in the odd ones."""
    channel = np.arange(d)
    angles = np.arange(length)[:, None] / 10000.0 ** (channel // 2 * 2 / d)
    return np.where(channel % 2 == 0, np.sin(angles), np.cos(angles))


def _blocks(tensors: dict[str, Any], prefix: str) -> int:
    """The number of layers whose parameters begin with prefix.K."""
    numbers = [int(name[len(prefix) + 1:].split(".")[0]) for name in tensors if name.startswith(prefix + ".")]
    return max(numbers, default=-1) + 1


def _gmlp(g: _Graph, config: dict[str, Any], task: str, n: str) -> str:
    d, length = config["d_model"], config["seq_len"]
    x = g.embedding("tokens", "embedding.weight", math.sqrt(d))
    if config["positions"]:
        x = g.op("Add", x, g.part(g.constant(_sinusoids(length, d)), 0, g.ints(0), n))
    for k in range(_blocks(g.tensors, "blocks")):
        x = _gmlp_block(g, x, f"blocks.{k}.", config["d_ffn"] // 2, task == "causal-lm", n)
    if task in _PER_ROW:
        x = g.mean_of_tokens(x, "tokens")
    return _head(g, g.layer_norm(x, "norm", 1e-5))


def _gmlp_block(g: _Graph, x: str, name: str, half: int, causal: bool, n: str) -> str:
    """x + proj2(z1 ⊙ (W norm(z2) + b)) with z1, z2 = gelu(proj1(norm(x)))."""
    z = g.activation(g.linear(g.layer_norm(x, name + "norm", 1e-5), name + "proj1"), "gelu")
    z1, z2 = (g.part(z, 2, g.ints(k * half), g.ints((k + 1) * half)) for k in (0, 1))
    weight = g.tensors[name + "sgu.weight"]
    spatial = g.constant(np.tril(weight) if causal else weight, name=name + "sgu.weight")
    spatial = g.part(g.part(spatial, 0, g.ints(0), n), 1, g.ints(0), n)
    bias = g.op("Unsqueeze", g.part(g.weight(name + "sgu.bias"), 0, g.ints(0), n), g.ints(1))
    mixed = g.op("Add", g.op("MatMul", spatial, g.layer_norm(z2, name + "sgu.norm", 1e-5)), bias)
    return g.op("Add", x, g.linear(g.op("Mul", z1, mixed), name + "proj2"))


def _head(g: _Graph, x: str) -> str:
    """The linear head, or the product with the embedding to which it is tied."""
    if "head.weight" in g.tensors:
        return g.linear(x, "head")
    return g.op("MatMul", x, g.constant(g.tensors["embedding.weight"].T, name="embedding.weight transposed"))


def _fnet(g: _Graph, config: dict[str, Any], task: str, n: str) -> str:
    x = _fnet_embeddings(g, config, n)
    fourier = _Fourier(g, config["d_model"], n)
    for k in range(_blocks(g.tensors, "encoder.layers")):
        x = _fnet_layer(g, x, f"encoder.layers.{k}.", config, fourier)
    if config["norm"] == "pre":
        x = g.layer_norm(x, "encoder.norm", config["eps"])
    if task == "masked-lm":
        return _fnet_words(g, x, config)
    if task in _PER_ROW:
        x = _fnet_pooled(g, x, config, n)
    return g.linear(x, "classifier") if "classifier.weight" in g.tensors else x


def _fnet_embeddings(g: _Graph, config: dict[str, Any], n: str) -> str:
    name, kind = "encoder.embeddings.", config.get("embeddings", "bert")
    if kind != "bert":
        x = g.embedding("tokens", name + "word.weight", math.sqrt(config["d_model"]))
        if kind == "plain":
            return x
        return g.op("Add", x, g.part(g.constant(_sinusoids(config["seq_len"], config["d_model"])), 0, g.ints(0), n))
    places = g.part(g.weight(name + "position.weight"), 0, g.ints(0), n)
    x = g.op("Add", g.embedding("tokens", name + "word.weight"), places)
    x = g.op("Add", x, g.embedding(_types(g, config.get("separator", -1)), name + "type.weight"))
    return g.linear(g.layer_norm(x, name + "norm", config["eps"]), name + "projection")


def _types(g: _Graph, separator: int) -> str:
    """1 for the tokens after a row's first separator up to and including its second, else 0."""
    from onnx import TensorProto
    is_separator = g.op("Cast", g.op("Equal", "tokens", g.constant(separator, np.int64)), to=TensorProto.INT64)
    before = g.op("CumSum", is_separator, g.constant(1, np.int64), exclusive=1)
    count = g.op("ReduceSum", is_separator, g.ints(1), keepdims=1)
    second = g.op("And", g.op("Equal", before, g.constant(1, np.int64)), g.op("Greater", count, g.constant(1, np.int64)))
    return g.op("Cast", second, to=TensorProto.INT64)


class _Fourier:
    """Re(FFT over n (FFT over d)) = C_n x C_d - S_n x S_d, with matrices of cosines and sines."""

    def __init__(self, g: _Graph, d: int, n: str) -> None:
        from onnx import TensorProto
        self.g = g
        angles = 2 * np.pi * (np.outer(np.arange(d), np.arange(d)) % d) / d
        self.cos_d, self.sin_d = g.constant(np.cos(angles)), g.constant(np.sin(angles))
        length = g.op("Squeeze", n)
        k = g.op("Range", g.constant(0, np.int64), length, g.constant(1, np.int64))
        products = g.op("Mul", g.op("Unsqueeze", k, g.ints(1)), g.op("Unsqueeze", k, g.ints(0)))
        turns = g.op("Div", g.op("Cast", g.op("Mod", products, n), to=TensorProto.FLOAT),
                     g.op("Cast", n, to=TensorProto.FLOAT))
        self.cos_n, self.sin_n = (g.op(kind, g.scaled(turns, 2 * math.pi)) for kind in ("Cos", "Sin"))

    def mix(self, x: str) -> str:
        g = self.g
        return g.op("Sub", g.op("MatMul", self.cos_n, g.op("MatMul", x, self.cos_d)),
                    g.op("MatMul", self.sin_n, g.op("MatMul", x, self.sin_d)))


def _fnet_layer(g: _Graph, x: str, name: str, config: dict[str, Any], fourier: _Fourier) -> str:
    def norm(x: str, which: str) -> str:
        return g.layer_norm(x, name + which, config["eps"])

    def feed_forward(x: str) -> str:
        return g.linear(g.activation(g.linear(x, name + "proj1"), config["activation"]), name + "proj2")

    if config["norm"] == "pre":
        x = g.op("Add", x, fourier.mix(norm(x, "mixing_norm")))
        return g.op("Add", x, feed_forward(norm(x, "output_norm")))
    x = norm(g.op("Add", x, fourier.mix(x)), "mixing_norm")
    return norm(g.op("Add", x, feed_forward(x)), "output_norm")


def _fnet_words(g: _Graph, x: str, config: dict[str, Any]) -> str:
    x = g.activation(g.linear(x, "head.transform"), config["activation"])
    x = g.layer_norm(x, "head.norm", config["eps"])
    tied = "head.decoder.weight" not in g.tensors
    decoder = g.tensors["encoder.embeddings.word.weight" if tied else "head.decoder.weight"]
    return g.op("Add", g.op("MatMul", x, g.constant(decoder.T)), g.weight("head.bias"))


def _fnet_pooled(g: _Graph, x: str, config: dict[str, Any], n: str) -> str:
    head = config.get("head", "task")
    if head == "mean":
        return g.mean_of_tokens(x, "tokens")
    last = g.op("Sub", n, g.ints(1)) if head == "last" else g.ints(0)
    one = g.op("Squeeze", g.op("Gather", x, last, axis=1), g.ints(1))
    return one if head == "last" else g.op("Tanh", g.linear(one, "pooler.dense"))


def _tnn(g: _Graph, config: dict[str, Any], task: str, n: str) -> str:
    x = g.embedding("tokens", "embedding.weight", math.sqrt(config["d_model"]))
    toeplitz = _Toeplitz(g, config, task == "causal-lm", n)
    for k in range(config["layers"]):
        x = _tnn_layer(g, x, f"layers.{k}.", config, toeplitz)
    if task in _PER_ROW:
        x = g.mean_of_tokens(x, "tokens")
    return _head(g, _tnn_norm(g, x, "norm", config.get("final_norm") or config["norm_type"]))


def _tnn_norm(g: _Graph, x: str, name: str, kind: str) -> str:
    """LayerNorm, or x / (‖x‖₂/√d + 1e-8)."""
    if kind == "layernorm":
        return g.layer_norm(x, name, 1e-5)
    length = g.op("ReduceL2", x, g.ints(-1), keepdims=1)
    d = g.op("Cast", g.op("Gather", g.op("Shape", x), g.ints(-1)), to=1)
    return g.op("Div", x, g.op("Add", g.op("Div", length, g.op("Sqrt", d)), g.constant(1e-8)))


def _tnn_layer(g: _Graph, x: str, name: str, config: dict[str, Any], toeplitz: _Toeplitz) -> str:
    def block(x: str, norm: str, f: Callable[[str], str]) -> str:
        kind = config["norm_type"]
        inner = f(_tnn_norm(g, x, name + norm, kind)) if config["prenorm"] else _tnn_norm(g, f(x), name + norm, kind)
        return g.op("Add", x, inner)

    def token_mixer(x: str) -> str:
        v, u = (g.activation(g.linear(x, f"{name}token_mixer.{part}"), config["act"]) for part in ("v_proj", "u_proj"))
        gated = g.op("Mul", u, toeplitz.mix(v, name + "token_mixer.toep."))
        if config["use_norm"]:
            gated = _tnn_norm(g, gated, name + "token_mixer.norm", config["norm_type"])
        return g.linear(gated, name + "token_mixer.o")

    def feature_mixer(x: str) -> str:
        gate = g.activation(g.linear(x, name + "feature_mixer.l1"), config["glu_act"])
        return g.linear(g.op("Mul", gate, g.linear(x, name + "feature_mixer.l2")), name + "feature_mixer.l3")

    return block(block(x, "token_norm", token_mixer), "feature_norm", feature_mixer)


class _Toeplitz:
    """y_i = sum over j of t_(i-j) x_j in each channel, as a circular convolution of 2^k >= 2 n places."""

    def __init__(self, g: _Graph, config: dict[str, Any], causal: bool, n: str) -> None:
        from onnx import TensorProto
        self.g, self.config, self.causal, self.n = g, config, causal, n
        double = g.op("Cast", g.op("Squeeze", n), to=TensorProto.DOUBLE)
        power = g.op("Ceil", g.op("Div", g.op("Log", g.op("Mul", double, g.constant(2, np.float64))),
                                  g.constant(math.log(2), np.float64)))
        self.places = g.op("Cast", g.op("Round", g.op("Pow", g.constant(2, np.float64), power)), to=TensorProto.INT64)
        first = g.constant(0, np.int64) if causal else g.op("Sub", g.constant(1, np.int64), g.op("Squeeze", n))
        self.lags = g.op("Range", first, g.op("Squeeze", n), g.constant(1, np.int64))

    def mix(self, x: str, name: str) -> str:
        """x (b, n, channels): the same shape."""
        g, t = self.g, self._coefficients(name)
        y = self._product(x, t)
        if not self.config["normalize"]:
            return y
        ones = g.op("ConstantOfShape", g.op("Concat", g.ints(1), self.n, g.op("Shape", t, start=1, end=2), axis=0),
                    value=_one())
        return g.op("Div", y, self._product(ones, t))

    def _coefficients(self, name: str) -> str:
        """act_type(gamma^|k| · rpe(position of lag k)): (lags, channels)."""
        g, config = self.g, self.config
        k = g.op("Unsqueeze", g.op("Cast", self.lags, to=1), g.ints(1))
        t = self._encoder(self._positions(k), name + "rpe.")
        if config["use_decay"]:
            distance = g.op("Abs", g.op("Cast", k, to=11))
            t = g.op("Mul", t, g.op("Cast", g.op("Pow", g.constant(config["gamma"], np.float64), distance), to=1))
        if config["use_multi_decay"]:
            learned = 1 / (1 + np.exp(-g.tensors[name + "gamma"].astype(np.float64).ravel()))
            lowest = max(config["gamma"], float(np.finfo(np.float32).tiny))
            rate = np.log(lowest + (1 - lowest) * learned)
            t = g.op("Mul", t, g.op("Exp", g.op("Mul", g.op("Abs", k), g.constant(rate[None]))))
        return g.activation(t, config["act_type"])

    def _positions(self, k: str) -> str:
        g, kind = self.g, self.config["par_type"]
        if kind == 1:
            return k
        last = g.op("Max", g.op("Cast", g.op("Sub", self.n, g.ints(1)), to=1), g.constant(1))
        share = g.op("Div", k, last)
        return share if kind == 2 else g.op("Exp", share)

    def _encoder(self, positions: str, name: str) -> str:
        g, config = self.g, self.config

        def layer(x: str, part: str) -> str:
            normed = _tnn_norm(g, x, part + ".0", config["norm_type"])
            return g.linear(g.activation(normed, config["rpe_act"]), part + ".2")

        x = g.linear(positions, name + "pos_proj")
        for k in range(config["rpe_layers"]):
            y = layer(x, f"{name}layers.{k}")
            x = g.op("Add", y, x) if config["rpe_residual"] else y
        return layer(x, name + "out")

    def _circulant(self, t: str) -> str:
        """The coefficients of lags 0, 1, …, zeros, and those of lags …, -2, -1: (1, places, channels)."""
        g = self.g
        channels = g.op("Shape", t, start=1, end=2)
        if self.causal:
            return g.op("Unsqueeze", t, g.ints(0))  # the transform adds the zeros
        before = g.op("Sub", self.n, g.ints(1))
        later = g.part(t, 0, before, g.ints(np.iinfo(np.int64).max))
        used = g.op("Shape", t, start=0, end=1)
        places = g.op("Unsqueeze", self.places, g.ints(0))
        zeros = g.op("ConstantOfShape", g.op("Concat", g.op("Sub", places, used), channels, axis=0))
        ring = g.op("Concat", later, zeros, g.part(t, 0, g.ints(0), before), axis=0)
        return g.op("Unsqueeze", ring, g.ints(0))

    def _product(self, x: str, t: str) -> str:
        g = self.g
        (a, b), (c, d) = (self._transform(x) for x in (x, self._circulant(t)))
        real = g.op("Sub", g.op("Mul", a, c), g.op("Mul", b, d))
        imag = g.op("Add", g.op("Mul", a, d), g.op("Mul", b, c))
        both = g.op("Concat", *(g.op("Unsqueeze", part, g.ints(3)) for part in (real, imag)), axis=3)
        y = g.op("Gather", g.op("DFT", both, "", g.constant(1, np.int64), inverse=1), g.constant(0, np.int64), axis=3)
        return g.op("Cast", g.part(y, 1, g.ints(0), self.n), to=1)

    def _transform(self, x: str) -> tuple[str, str]:
        """Real and imaginary part of the transform along axis 1, padded with zeros to all places, in float64: in float32
        the errors of onnxruntime's transforms are up to 1e-5."""
        g = self.g
        signal = g.op("Unsqueeze", g.op("Cast", x, to=11), g.ints(3))
        spectrum = g.op("DFT", signal, self.places, g.constant(1, np.int64))
        return tuple(g.op("Gather", spectrum, g.constant(k, np.int64), axis=3) for k in (0, 1))  # type: ignore[return-value]


def _one() -> Any:
    from onnx import helper
    return helper.make_tensor("one", 1, [1], [1.0])


_LOGITS: dict[str, Callable[[_Graph, dict[str, Any], str, str], str]] = {"gmlp": _gmlp, "fnet": _fnet, "tnn": _tnn}
