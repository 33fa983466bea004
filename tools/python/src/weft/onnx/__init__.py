"""Saved models as ONNX graphs, for onnxruntime and other programs. It needs the package onnx.

>>> import weft.onnx
>>> weft.onnx.export("news", "news.onnx")
>>> session = onnxruntime.InferenceSession("news.onnx")
>>> session.run(["logits"], {"tokens": weft.load("news").encode("Oil prices soar")[None]})

The graph's input is `tokens`, int64 (b, n), for any b and any n that the model takes. Models that read numbers have the
input `frames`, float32 (b, n, channels), or pictures (b, height, width, channels) with pixels of 0 … 255. The output is
`logits`, float32: (b, n, outputs), or (b, outputs) for tasks with one output for each row. The graph has no tokenizer.
The file's metadata name the architecture, the task and the labels.

The graph computes in f32, also if the model was trained in bf16, and quantized weights are widened to f32. In f32 its
logits are those of `weft.load(folder, "f32")(tokens)` up to rounding: within 1e-5 of the largest logit, except for TNNs
with `normalize` and coefficients of both signs, where sums near 0 magnify the rounding of both. weft rounds the inputs
of int8 layers, which the graph does not, so that their logits differ in the third digit.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .. import _weft
from . import _fnet, _gmlp, _tnn
from ._graph import Graph

__all__ = ["export"]

_OPSET, _IR_VERSION = 20, 9


def export(model: Any, path: Union[str, os.PathLike[str]]) -> None:
    """Writes a saved model as an ONNX file, which replaces a file of that name only when it is complete.

    model: a folder, as `weft.load` takes it, or a `weft.Model`
    Raises weft.Error, naming it, for an architecture, a task or an option that the export doesn't know.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("weft.onnx needs the package onnx: pip install onnx") from error
    loaded = model._loaded if hasattr(model, "_loaded") else _weft.Loaded(os.fspath(model), None, False)
    made = _model_of(loaded.bytes)
    onnx.checker.check_model(made, full_check=True)
    _write(made.SerializeToString(), os.fspath(path))


def _write(content: bytes, path: str) -> None:
    """Writes a file under another name, which it then takes."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(content)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _model_of(content: bytes) -> Any:
    """The ONNX model of a checkpoint's model.safetensors."""
    from onnx import helper

    loaded = _weft.Loaded.from_bytes(content, "f32")
    g = Graph(loaded, _description(content), _tensors(content))
    logits = {"gmlp": _gmlp, "fnet": _fnet, "tnn": _tnn}[g.architecture].logits(g)
    g.add("Identity", logits, result="logits")
    g.check_all_used()
    made = helper.make_model(g.finished(), producer_name="weft", producer_version=_weft.version, ir_version=_IR_VERSION,
                             opset_imports=[helper.make_opsetid("", _OPSET)])
    helper.set_model_props(made, {"architecture": g.architecture, "task": g.task, "labels": json.dumps(loaded.labels)})
    return made


def _description(content: bytes) -> dict[str, Any]:
    """What the metadata of a checkpoint's model.safetensors say about the model."""
    header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["weft"])


def _tensors(content: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """The parameters in f32. Quantized ones are widened."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        read = {name: np.asarray(tensor.numpy()) for name, tensor in _weft.load_tensors(path).items()}
    scales = {name: read.pop(name + "_scale") for name in list(read) if name + "_scale" in read}
    return {name: value.astype(np.float32) * (scales[name][:, None] if name in scales else np.float32(1))
            for name, value in read.items()}
