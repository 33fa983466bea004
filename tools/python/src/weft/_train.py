"""Training from Python."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Union

from . import _weft
from ._rows import listed, rows_of, series_of


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
        """The validation of the best checkpoint, which is `model`."""
        return next(metrics for metrics in self.metrics if metrics["step"] == self.model._loaded.step)

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


_TASKS = ("classifier", "regression", "multilabel", "tagging", "retrieval", "causal-lm", "masked-lm", "forecast")


class _Source(NamedTuple):
    """What a model learns from."""

    task: str
    length: int  # of the sequences, if the data have one; otherwise 0
    batch: int  # the usual one
    start: Callable[..., None]  # start(settings, progress, evaluated, every_step)


def _source(data: Any, labels: Any, task: Union[str, None], validation: Any, length: Union[int, None], horizon: int,
            targets: Union[Sequence[str], None], season: int) -> _Source:
    """The data of the task: a text, a series, or rows."""
    if task is not None and task not in _TASKS:
        raise ValueError(f"task: expected one of {', '.join(_TASKS)}, got {task!r}")
    if isinstance(data, (str, os.PathLike)) and len(os.fspath(data)) < 1000 and os.path.isfile(data):
        raise ValueError(f"data: expected a text, got the name of the file {str(data)!r}: use open(name).read()")
    is_text = isinstance(data, str) or task in ("causal-lm", "masked-lm")
    if is_text or task == "forecast":
        if labels is not None:
            raise TypeError("labels: a text and a series have none")
        if not isinstance(validation, (float, int)):
            raise TypeError(f"validation: expected the share of the end of the data, got {type(validation).__name__}")
        if is_text:
            text = data if isinstance(data, str) else "\n".join(map(str, listed("data", data)))
            return _Source(task or "causal-lm", 0, 12, lambda *how: _weft.train_text(text, *how))
        numbers, names = series_of(data)
        chosen = list(targets) if targets is not None else names
        return _Source("forecast", length or 64, 32,
                       lambda *how: _weft.train_series(numbers, names, chosen, horizon, season, *how))
    if labels is None:
        raise TypeError("labels: expected one for each row; without labels, give one text (a str), or "
                        'task="causal-lm" for a list of texts, or task="forecast" for a series')
    rows, task = rows_of(data, labels, task)
    held = None
    if not isinstance(validation, (float, int)):
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise TypeError(f"validation: expected a share or a pair (data, labels), got {validation!r}")
        held = rows_of(*validation, task, rows.names if task == "classifier" else None)[0]
    return _Source(task, rows.frames, 64 if task == "retrieval" else 32,
                   lambda *how: _weft.train_rows(rows, held, *how))


def train(data: Any, labels: Any = None, *, arch: str = "tnn", task: Union[str, None] = None,
          validation: Union[float, tuple[Any, Any]] = 0.1, out: Union[str, os.PathLike[str], None] = None,
          overwrite: bool = False, layers: Union[int, None] = None, d_model: Union[int, None] = None,
          length: Union[int, None] = None, patch: Union[int, None] = None, shift: int = 0,
          flips: bool = False, horizon: int = 1, targets: Union[Sequence[str], None] = None, season: int = 0,
          dropout: Union[float, None] = None,
          config: Union[dict[str, Any], None] = None, steps: Union[int, None] = None,
          epochs: Union[float, None] = None, batch: Union[int, None] = None, lr: float = 1e-3,
          schedule: str = "cosine", warmup: int = 100, optimizer: str = "adamw",
          optimizer_options: Union[dict[str, float], None] = None, weight_decay: Union[float, None] = None,
          clip: float = 1.0, label_smoothing: float = 0.0, ema: float = 0.0, balance: str = "none",
          tokenizer: Union[str, None] = None, vocabulary_size: int = 20000, min_count: int = 2,
          dimensions: int = 128, eval_every: Union[int, None] = None, patience: int = 0, best_by: str = "loss",
          precision: str = "f32", seed: int = 1, progress: bool = True,
          callback: Union[Callable[[int, float], Any], None] = None) -> Run:
    """Trains a model on data in memory.

    >>> run = weft.train(["Oil prices soar", "A late goal", …], ["Business", "Sports", …], epochs=5)
    >>> run.model.classify("Shares fall")
    >>> "".join(weft.train(open("book.txt").read()).model.generate("It was"))
    >>> weft.train(table, task="forecast", targets=["price"], horizon=7).model.forecast(table)

    data: texts or pairs of texts (tuples of two), in a list, a numpy array, a pandas column or an iterator; an array of
        numbers (rows, n) or (rows, n, channels); or pictures, an array of uint8 (rows, height, width[, channels]). For
        a language model: one text, or a list of texts, which line ends then join. For a forecast: a series, an array
        (n) or (n, columns) or a pandas table, in the order of time
    labels: one for each row. Their type says what is learned, unless task does: str or int a classifier, float (or
        lists of floats) a regression, lists of str several labels ("multilabel"). A text and a series have none
    arch: "gmlp", "tnn" or "fnet"
    task: "classifier", "regression", "multilabel", "tagging" (a list of tags, one for each word) or "retrieval" (the
        label is a text that belongs to the row's text); of one text "causal-lm" or "masked-lm"; "forecast"
    validation: the share of the rows, or of the end of a text or series, that chooses the best checkpoint, or a pair
        (data, labels)
    out: the run's folder; None: a temporary one, which is removed
    layers, d_model, dropout: sizes of the model; config: other fields of its architecture (weft info --arch NAME)
    length: the longest sequence, or the windows of a text or series, in tokens or frames
    patch, shift, flips: of pictures: the side of the square patches that the model reads (None: at most 64 patches), by
        how many pixels training moves pictures at random, and whether it mirrors half of them
    targets, horizon, season: of a forecast: the columns to predict (None: all; those of an array are "0", "1", …), how
        many rows after those that the model reads, and the rows of a season, for a comparison in the metrics
    steps, epochs: length of the run, by one of them; None: 5 epochs, but at least 1000 steps (of a text 2000), unless
        these are more than 100 epochs
    batch: rows or windows of a step (32; retrieval: 64; language models: 12)
    eval_every: steps between validations, each of which saves a checkpoint (a tenth of the steps, at most 500)
    callback: callback(step, loss) is called after each step. An exception stops the run and is raised again
    lr, schedule, warmup: the highest learning rate; "cosine", "linear", "constant" or "inverse-sqrt"; steps to reach it
    optimizer, optimizer_options, weight_decay, clip: as in `weft.optim`
    label_smoothing: share of the probability that goes to the other classes; ema: decay of a moving average of the
        parameters, such as 0.999, which is then the model; balance: of rare classes, "none", "weights" or "rows"
    tokenizer, vocabulary_size, min_count: "words", "characters", "bytes", … (None: words; characters of one text), the
        most symbols, and how often a word must occur
    dimensions: of a retrieval's vectors
    patience, best_by: evaluations without improvement that end the run (0: none do), by "loss" or a metric's name
    precision: "f32" or "bf16"; seed: of parameters and batches; progress: whether it is shown, on standard error

    Ctrl-C and exceptions of the callback stop the run after a step and are raised again. With `out`, the last state of
    the model is saved before, and `weft.load(out)` loads it. Raises Error, ValueError or TypeError, which say what was
    expected.
    """
    if steps is not None and epochs is not None:
        raise ValueError(f"steps, epochs: expected one of them, got {steps} and {epochs}")
    source = _source(data, labels, task, validation, length, horizon, targets, season)
    fields = dict(config or {})
    for name, value in (("layers", layers), ("d_model", d_model), ("seq_len", length), ("dropout", dropout)):
        if value is not None:
            fields[name] = value
    if source.length > 0 and arch in ("gmlp", "tnn", "fnet"):
        fields.setdefault("seq_len", source.length)
    settings = _weft.Settings()
    for name, value in {
            "arch": arch, "task": source.task, "config": json.dumps(fields), "length": fields.get("seq_len", 0),
            "validation": validation if isinstance(validation, (float, int)) else 0.1, "patch": patch or 0,
            "shift": shift, "flips": flips, "steps": steps, "epochs": epochs, "eval_every": eval_every or 0,
            "batch": batch if batch is not None else source.batch, "lr": lr, "schedule": schedule, "warmup": warmup,
            "label_smoothing": label_smoothing, "ema": ema, "balance": balance, "tokenizer": tokenizer or "",
            "vocabulary_size": vocabulary_size, "min_count": min_count, "dimensions": dimensions, "patience": patience,
            "best_by": best_by, "precision": precision, "seed": seed, "overwrite": overwrite}.items():
        try:
            setattr(settings, name, value)
        except TypeError:
            raise TypeError(f"{name}: got {value!r}, which has another type than the default") from None
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
        source.start(settings, stepped, evaluated, callback is not None)
        with open(os.path.join(settings.folder, "best", "model.safetensors"), "rb") as file:
            model = _from_bytes(file.read(), None)
    return Run(model, metrics, settings.folder if out is not None else None)
