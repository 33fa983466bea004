"""Training from Python."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any, Union

from . import _weft
from ._rows import rows_of


class Run:
    """A finished training run, as `train` returns it.

    model: the best checkpoint, as `weft.load` returns it
    metrics: a dictionary for each validation: step, loss and the task's metrics
    folder: the run's folder, which `weft report`, `weft.load` and `weft train --resume` take; None for a run that was
        given none
    """

    def __init__(self, model: Any, metrics: list[dict[str, Any]], folder: Union[str, None]) -> None:
        self.model = model
        self.metrics = metrics
        self.folder = folder

    @property
    def best(self) -> dict[str, Any]:
        """The validation with the lowest loss."""
        return min(self.metrics, key=lambda metrics: metrics["loss"])

    def __repr__(self) -> str:
        return f"<weft.Run {self.model!r}, validation loss {self.best['loss']:.4f}>"


class _Display:
    """One line that a terminal or a notebook overwrites."""

    def __init__(self, shown: bool) -> None:
        self.shown, self.width = shown, 0

    def show(self, text: str, end: str = "") -> None:
        if self.shown:
            print("\r" + text.ljust(self.width), end=end, file=sys.stderr, flush=True)
            self.width = 0 if end else len(text)


def train(data: Any, labels: Any, *, arch: str = "tnn", task: Union[str, None] = None,
          validation: Union[float, tuple[Any, Any]] = 0.1, out: Union[str, os.PathLike[str], None] = None,
          overwrite: bool = False, layers: Union[int, None] = None, d_model: Union[int, None] = None,
          length: Union[int, None] = None, patch: Union[int, None] = None, shift: int = 0,
          flips: bool = False, dropout: Union[float, None] = None,
          config: Union[dict[str, Any], None] = None, steps: Union[int, None] = None,
          epochs: Union[float, None] = None, batch: Union[int, None] = None, lr: float = 1e-3,
          schedule: str = "cosine", warmup: int = 100, optimizer: str = "adamw",
          optimizer_options: Union[dict[str, float], None] = None, weight_decay: Union[float, None] = None,
          clip: float = 1.0, label_smoothing: float = 0.0, ema: float = 0.0, balance: str = "none",
          tokenizer: Union[str, None] = None, vocabulary_size: int = 20000, min_count: int = 2,
          dimensions: int = 128, eval_every: Union[int, None] = None, patience: int = 0, best_by: str = "loss",
          precision: str = "f32", seed: int = 1, progress: bool = True,
          callback: Union[Callable[[int, float], Any], None] = None) -> Run:
    """Trains a model on rows in memory.

    >>> run = weft.train(["Oil prices soar", "A late goal", …], ["Business", "Sports", …], epochs=5)
    >>> run.model.classify("Shares fall")

    data: texts or pairs of texts (tuples of two), in a list, a numpy array, a pandas column or an iterator; an array of
        numbers (rows, n) or (rows, n, channels); or pictures, an array of uint8 (rows, height, width[, channels])
    labels: one for each row. Their type says what is learned, unless task does: str or int a classifier, float (or
        lists of floats) a regression, lists of str several labels ("multilabel")
    arch: "gmlp", "tnn" or "fnet"
    task: "classifier", "regression", "multilabel", "tagging" (a list of tags, one for each word) or "retrieval" (the
        label is a text that belongs to the row's text)
    validation: the share of the rows that chooses the best checkpoint, or a pair (data, labels)
    out: the run's folder; None: a temporary one, which is removed
    layers, d_model, dropout: sizes of the model; config: other fields of its architecture (weft info --arch NAME)
    length: the longest sequence, in tokens or frames
    patch, shift, flips: of pictures: the side of the square patches that the model reads (None: at most 64 patches), by
        how many pixels training moves pictures at random, and whether it mirrors half of them
    steps, epochs: length of the run; None: 5 epochs, but at least 1000 steps (at most 100 epochs)
    batch: rows of a step (32; retrieval: 64)
    eval_every: steps between validations, each of which saves a checkpoint (a tenth of the steps, at most 500)
    callback: callback(step, loss) is called after each step. An exception stops the run and is raised again
    Other arguments are the options of `weft train` of the same name.

    Ctrl-C and exceptions of the callback stop the run after a step and are raised again. With `out`, the last state of
    the model is saved before, and `weft.load(out)` loads it. Raises Error, ValueError or TypeError, which say what was
    expected.
    """
    rows, task, names = rows_of(data, labels, task)
    held = None
    if not isinstance(validation, (float, int)):
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise TypeError(f"validation: expected a share or a pair (data, labels), got {validation!r}")
        held = rows_of(*validation, task, names if task == "classifier" else None)[0]
    settings = _weft.Settings()
    if held is None:
        settings.validation = validation
    fields = dict(config or {})
    for name, value in (("layers", layers), ("d_model", d_model), ("seq_len", length), ("dropout", dropout)):
        if value is not None:
            fields[name] = value
    if rows.frames > 0 and arch in ("gmlp", "tnn", "fnet"):
        fields.setdefault("seq_len", rows.frames)
    settings.arch, settings.task, settings.config = arch, task, json.dumps(fields)
    settings.length = fields.get("seq_len", 0)
    settings.patch, settings.shift, settings.flips = patch or 0, shift, flips
    settings.steps, settings.epochs, settings.eval_every = steps, epochs, eval_every or 0
    settings.batch = batch if batch is not None else 64 if task == "retrieval" else 32
    settings.lr, settings.schedule, settings.warmup = lr, schedule, warmup
    settings.label_smoothing, settings.ema, settings.balance = label_smoothing, ema, balance
    settings.tokenizer, settings.vocabulary_size, settings.min_count = tokenizer or "", vocabulary_size, min_count
    settings.dimensions, settings.patience, settings.best_by = dimensions, patience, best_by
    settings.precision, settings.seed, settings.overwrite = precision, seed, overwrite
    settings.set_optimizer(optimizer, optimizer_options or {}, weight_decay, clip)

    display, metrics = _Display(progress), []

    def stepped(step: int, total: int, loss: float, rate: float, seconds_left: float) -> None:
        display.show(f"step {step}/{total}  loss {loss:.4f}  {seconds_left:.0f} s left")
        if callback is not None:
            callback(step, loss)

    def evaluated(measured: dict[str, Any]) -> None:
        metrics.append(measured)
        others = "".join(f", {name} {value:.4g}" for name, value in measured.items() if name not in ("step", "loss"))
        display.show(f"step {measured['step']}: validation loss {measured['loss']:.4f}{others}", "\n")

    from . import _from_bytes
    with tempfile.TemporaryDirectory(prefix="weft-") as temporary:
        settings.folder = os.fspath(out) if out is not None else os.path.join(temporary, "run")
        _weft.train(rows, held, settings, stepped, evaluated, callback is not None)
        with open(os.path.join(settings.folder, "best", "model.safetensors"), "rb") as file:
            model = _from_bytes(file.read(), None)
    return Run(model, metrics, settings.folder if out is not None else None)
