"""Exports saved models as ONNX graphs, for onnxruntime and other programs. This module needs the package onnx.

>>> import weft.onnx
>>> weft.onnx.export("news", "news.onnx")
>>> session = onnxruntime.InferenceSession("news.onnx")
>>> session.run(["logits"], {"tokens": weft.load("news").encode("Oil prices soar")[None]})

The graph's input is `tokens`, int64 (b, n), for any b and any n that the model accepts. For models that read numbers,
the input is `frames`, float32 (b, n, channels). For pictures it is (b, height, width, channels), with pixels from 0 to
255. The output is `logits`, float32 (b, n, outputs), or (b, outputs) for tasks with one output for each row. The graph
does not contain the tokenizer. The file's metadata contain the architecture, the task and the labels.

The graph computes in f32, even if the model was trained in bf16, and converts quantized weights to f32. Its logits are
those of `weft.load(folder, "f32")(tokens)` up to rounding errors, which are within 1e-5 of the largest logit. There are
two exceptions. In TNNs with `normalize` and coefficients of both signs, divisions by sums near 0 magnify the rounding
errors. In int8 models, weft rounds the inputs of layers and the graph does not, so the logits differ in the third
digit.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .. import _weft
from .._arguments import checked
from .._files import write_file
from . import _fnet, _gmlp, _tnn
from ._graph import Graph

__all__ = ["export"]

_OPSET, _IR_VERSION = 20, 9


@checked
def export(model: Any, path: Union[str, os.PathLike[str]]) -> None:
    """Writes a saved model as an ONNX file. It replaces an existing file only when the new file is complete.

    model: a folder that `weft.load` accepts, or a `weft.Model`
    Raises a weft.Error that names the architecture, task or option if the export does not support it.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("weft.onnx needs the package onnx: pip install onnx") from error
    loaded = model._loaded if hasattr(model, "_loaded") else _weft.Loaded(os.fspath(model), None, False)
    made = _model_of(loaded.bytes)
    onnx.checker.check_model(made, full_check=True)
    write_file(made.SerializeToString(), os.fspath(path))


def _model_of(content: bytes) -> Any:
    """The ONNX model of a checkpoint's model.safetensors."""
    from onnx import helper

    loaded, description = _weft.Loaded.from_bytes(content, "f32"), _description(content)
    if description.get("quantized") == "int4":
        raise _weft.Error("[onnx] models in int4 are not supported: export the original model")
    g = Graph(loaded, description, _tensors(content))
    logits = {"gmlp": _gmlp, "fnet": _fnet, "tnn": _tnn}[g.architecture].logits(g)
    g.add("Identity", logits, result="logits")
    g.check_all_used()
    made = helper.make_model(g.finished(), producer_name="weft", producer_version=_weft.version, ir_version=_IR_VERSION,
                             opset_imports=[helper.make_opsetid("", _OPSET)])
    helper.set_model_props(made, {"architecture": g.architecture, "task": g.task, "labels": json.dumps(loaded.labels)})
    return made


def _description(content: bytes) -> dict[str, Any]:
    """The description of the model in the metadata of a checkpoint's model.safetensors."""
    header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["weft"])


def _tensors(content: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """The parameters in f32. Quantized parameters are converted to f32."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        read = {name: np.asarray(tensor.numpy()) for name, tensor in _weft.load_tensors(path).items()}
    scales = {name: read.pop(name + "_scale") for name in list(read) if name + "_scale" in read}
    return {name: value.astype(np.float32) * (scales[name][:, None] if name in scales else np.float32(1))
            for name, value in read.items()}
