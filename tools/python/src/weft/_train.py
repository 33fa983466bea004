"""`weft.train`, which trains a model on data in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple, Union

from . import _weft
from ._arguments import checked, config_json
from ._rows import listed, rows_of, series_of


class Run:
    """A finished training run, as `train` returns it.

    model: the best checkpoint, as `weft.load` returns it
    metrics: a dictionary for each evaluation on the validation set: the step, the loss and the task's metrics
    folder: the run's folder, which `weft report`, `weft.load` and `weft train --resume` accept; None if `train` was
        called without `out`
    """

    def __init__(self, model: Any, metrics: list[dict[str, Any]], folder: Union[str, None]) -> None:
        self.model = model
        self.metrics = metrics
        self.folder = folder

    @property
    def best(self) -> dict[str, Any]:
        """The metrics of the best checkpoint, which is `model`, on the validation set."""
        return next(metrics for metrics in self.metrics if metrics["step"] == self.model._loaded.step)

    def __repr__(self) -> str:
        return f"<weft.Run {self.model!r}, validation loss {self.best['loss']:.4f}>"


class _Reporter:
    """Shows the progress of a run in one line, which each step overwrites, and keeps the metrics of the evaluations."""

    def __init__(self, shown: bool, callback: Union[Callable[[int, float], Any], None]) -> None:
        self.metrics: list[dict[str, Any]] = []
        self._shown, self._callback, self._width = shown, callback, 0

    def stepped(self, step: int, total: int, loss: float, rate: float, seconds_left: float) -> None:
        self._show(f"step {step}/{total}  loss {loss:.4f}  {seconds_left:.0f} s left")
        if self._callback is not None:
            self._callback(step, loss)

    def evaluated(self, metrics: dict[str, Any]) -> None:
        self.metrics.append(metrics)
        others = "".join(f", {name} {value:.4g}" for name, value in metrics.items() if name not in ("step", "loss"))
        self._show(f"step {metrics['step']}: validation loss {metrics['loss']:.4f}{others}", "\n")

    def _show(self, text: str, end: str = "") -> None:
        if self._shown:
            print("\r" + text.ljust(self._width), end=end, file=sys.stderr, flush=True)
            self._width = 0 if end else len(text)


class _Source(NamedTuple):
    """The data that a model learns from, and the settings that depend on them."""

    task: str
    length: int  # length of the sequences; 0 if the data do not determine it
    batch: int  # the default batch size
    start: Callable[..., None]  # start(settings, stepped, evaluated, every_step) trains on the data


def _is_share(validation: Any) -> bool:
    return isinstance(validation, Real)


def _check_unlabeled(labels: Any, validation: Any) -> None:
    """Raises an error unless the arguments suit a text or a series."""
    if labels is not None:
        raise TypeError("labels: expected None for a text or a series")
    if not _is_share(validation):
        raise TypeError("validation: expected a number, the share at the end of the data, got "
                        f"{type(validation).__name__}")


def _text_source(data: Any, task: str) -> _Source:
    if not isinstance(data, str):
        parts = listed("data", data)
        for row, part in enumerate(parts):
            if not isinstance(part, str):
                raise TypeError(f"data: expected a text in row {row}, got {part!r}")
        data = "\n".join(parts)
    return _Source(task, length=0, batch=12, start=lambda *how: _weft.train_text(data, *how))


def _series_source(data: Any, length: int, horizon: int, targets: Union[Iterable[str], None], season: int) -> _Source:
    numbers, names = series_of(data)
    chosen = listed("targets", targets) if targets is not None else names
    return _Source("forecast", length=length, batch=32,
                   start=lambda *how: _weft.train_series(numbers, names, chosen, horizon, season, *how))


def _row_source(data: Any, labels: Any, task: Union[str, None], validation: Any) -> _Source:
    if labels is None:
        raise TypeError("labels: expected one label for each row. Data without labels can be one text (a str), a "
                        'list of texts with task="causal-lm", or a series with task="forecast"')
    rows, task = rows_of(data, labels, task)
    held_out = None
    if not _is_share(validation):
        if len(validation) != 2:
            raise TypeError(f"validation: expected a share or a pair (data, labels), got {validation!r}")
        held_out, _ = rows_of(*validation, task, rows.names if task == "classifier" else None)
    return _Source(task, length=rows.frames, batch=64 if task == "retrieval" else 32,
                   start=lambda *how: _weft.train_rows(rows, held_out, *how))


def _source(data: Any, labels: Any, task: Union[str, None], validation: Any, length: Union[int, None],
            horizon: Union[int, None], targets: Union[Iterable[str], None], season: Union[int, None]) -> _Source:
    """The data of the task, which are a text, a series, or rows. Raises an error for invalid arguments."""
    if task is not None and task not in _weft.tasks():
        raise ValueError(f"task: expected one of {', '.join(_weft.tasks())}, got {task!r}")
    if isinstance(data, (str, os.PathLike)) and len(os.fspath(data)) < 1000 and os.path.isfile(data):
        raise ValueError(f"data: expected a text, got the name of the file {str(data)!r}; use open(name).read()")
    for name, value in {"horizon": horizon, "targets": targets, "season": season}.items():
        if value is not None and task != "forecast":
            raise ValueError(f'{name}: only for forecasts (task="forecast")')
    if isinstance(data, str) or task in ("causal-lm", "masked-lm"):
        _check_unlabeled(labels, validation)
        return _text_source(data, task or "causal-lm")
    if task == "forecast":
        _check_unlabeled(labels, validation)
        return _series_source(data, length or 64, 1 if horizon is None else horizon, targets, season or 0)
    return _row_source(data, labels, task, validation)


def _config(data_length: int, given: Union[Mapping[str, Any], None], **sizes: Any) -> dict[str, Any]:
    """The options of the architecture. Sizes that are not None replace the given options of the same names."""
    config = {**(given or {}), **{name: size for name, size in sizes.items() if size is not None}}
    if data_length > 0:
        config.setdefault("seq_len", data_length)
    return config


def _settings(**values: Any) -> _weft.Settings:
    """The settings of a run. If a value is None, the C++ module's default remains."""
    settings = _weft.Settings()
    for name, value in values.items():
        if value is None:
            continue
        try:
            setattr(settings, name, value)
        except TypeError:  # `checked` has checked the types of all arguments
            raise ValueError(f"{name}: expected a value in the range of its type, got {value!r}") from None
    return settings


@checked
def train(data: Any, labels: Any = None, *, arch: str = "tnn", task: Union[str, None] = None,
          validation: Union[float, tuple[Any, Any], list[Any]] = 0.1, out: Union[str, os.PathLike[str], None] = None,
          overwrite: bool = False, layers: Union[int, None] = None, d_model: Union[int, None] = None,
          length: Union[int, None] = None, patch: Union[int, None] = None, shift: int = 0,
          flips: bool = False, horizon: Union[int, None] = None, targets: Union[Iterable[str], None] = None,
          season: Union[int, None] = None, dropout: Union[float, None] = None,
          config: Union[Mapping[str, Any], None] = None, steps: Union[int, None] = None,
          epochs: Union[float, None] = None, batch: Union[int, None] = None, lr: Union[float, None] = None,
          schedule: str = "cosine", warmup: int = 100, optimizer: str = "adamw",
          optimizer_options: Union[Mapping[str, float], None] = None, weight_decay: Union[float, None] = None,
          clip: float = 1.0, label_smoothing: float = 0.0, ema: float = 0.0, fake_quant: Union[str, None] = None,
          balance: str = "none",
          tokenizer: Union[str, None] = None, vocabulary_size: int = 20000, min_count: int = 2,
          dimensions: int = 128, eval_every: Union[int, None] = None, patience: int = 0, best_by: str = "loss",
          precision: str = "f32", seed: int = 1, license: str = "", about: str = "", progress: bool = True,
          callback: Union[Callable[[int, float], Any], None] = None) -> Run:
    """Trains a model on data in memory.

    >>> run = weft.train(["Oil prices soar", "A late goal", …], ["Business", "Sports", …], epochs=5)
    >>> run.model.classify("Shares fall")
    >>> "".join(weft.train(open("book.txt").read()).model.generate("It was"))
    >>> weft.train(table, task="forecast", targets=["price"], horizon=7).model.forecast(table)

    data: the rows: texts or pairs of texts (tuples of two), in a list, a numpy array, a pandas column or an iterator;
        an array of numbers (rows, n) or (rows, n, channels); or pictures, an array of uint8 (rows, height, width[,
        channels]). For a language model, one text, or a list of texts, which are joined by line ends. For a forecast, a
        series in the order of time: an array (n) or (n, columns), or a pandas table
    labels: one for each row; None for a text or a series. Without `task`, the type of the labels determines the task:
        str or int for a classifier, float or lists of floats for a regression, lists of str for multilabel
    arch: the architecture: "gmlp", "tnn" or "fnet"
    task: "classifier", "regression", "multilabel", "tagging" (a label is a list of tags, one for each word),
        "retrieval" (a label is a text that matches the row's text), "forecast", or for language models "causal-lm" or
        "masked-lm"
    validation: the validation set, which determines the best checkpoint: a share of the rows chosen at random, a share
        of a text or series at its end, or a pair (data, labels)
    out: the run's folder; None: a temporary folder, which is removed at the end
    overwrite: whether the run may replace an earlier run in that folder
    layers, d_model, dropout: sizes of the model
    config: other options of the architecture, by name (weft info --arch NAME)
    length: the maximum length of a sequence, or the length of the windows of a text or series, in tokens or frames
    patch: for pictures, the side of the square patches that the model reads; None: the smallest side that gives at most
        64 patches
    shift, flips: for pictures, the maximum random shift in training, in pixels, and whether training flips half of the
        pictures horizontally
    targets: for a forecast, the columns to predict; None: all. The columns of an array are "0", "1", …
    horizon: for a forecast, the number of rows to predict (default: 1)
    season: for a forecast, the number of rows in a season. The metrics then include the errors of a forecast that
        repeats the values of one season earlier
    steps, epochs: the length of the run; give at most one of them. By default 5 epochs, but at least 1000 steps (2000
        for a text) or 100 epochs, whichever is less, and at most 20000 steps or, for rows, one epoch
    batch: the number of rows or windows in a step; by default 32, for retrieval 64, for language models 12
    eval_every: the number of steps between evaluations on the validation set, each of which saves a checkpoint; by
        default a tenth of the steps, at most 500
    callback: callback(step, loss) is called after each step. If it raises an exception, the run stops
    lr, schedule, warmup: the highest learning rate (by default 2e-3 for a text and 1e-3 for other data, multiplied by a
        factor of the optimizer, such as 0.1 for Lion), the schedule ("cosine", "linear", "constant" or "inverse-sqrt"), and the number of steps until the
        highest rate is reached
    optimizer, optimizer_options, weight_decay, clip: see `weft.optim`
    label_smoothing: the share of the target probability that is spread over all classes
    ema: the decay of a moving average of the parameters, such as 0.999. The average is then the trained model
    fake_quant: the format to which the model will be quantized, "bf16", "int8" or "int4"; steps, evaluations and the
        trained model then have rounded weights. None: no rounding
    balance: the treatment of rare classes: "none", "weights" or "rows"
    tokenizer: "words", "characters", "bytes", …; None: "words" for rows, "whitespace" for tagging, "characters" for
        one text
    vocabulary_size, min_count: the maximum number of symbols, and how often a word must occur to be one of them
    dimensions: for retrieval, the number of dimensions of a vector
    patience, best_by: the number of evaluations without improvement after which the run ends (0: never), and what is
        compared: "loss" or the name of a metric
    precision: the precision of the computation: "f32" or "bf16"
    seed: the seed of the initial parameters and of the order of the batches
    license, about: the license of the model, such as "CC-BY-4.0", and a description, for the card of the model
    progress: whether to show the progress on standard error

    Ctrl-C or an exception in the callback stops the run after the current step, and `train` raises the exception again.
    If `out` is given, `train` first saves the last state of the model, and `weft.load(out)` then loads a checkpoint.
    Raises Error, ValueError or TypeError with a message that says what was expected.
    """
    if steps is not None and epochs is not None:
        raise ValueError(f"steps, epochs: expected only one of them, got {steps} and {epochs}")
    source = _source(data, labels, task, validation, length, horizon, targets, season)
    options = _config(source.length, config, layers=layers, d_model=d_model, seq_len=length, dropout=dropout)
    settings = _settings(
        arch=arch, task=source.task, config=config_json(options), length=options.get("seq_len", 0),
        validation=validation if _is_share(validation) else None, patch=patch, shift=shift, flips=flips, steps=steps,
        epochs=epochs, eval_every=eval_every, batch=source.batch if batch is None else batch, lr=lr, schedule=schedule,
        warmup=warmup, label_smoothing=label_smoothing, ema=ema, fake_quant=fake_quant, balance=balance,
        tokenizer=tokenizer, vocabulary_size=vocabulary_size, min_count=min_count, dimensions=dimensions,
        patience=patience, best_by=best_by, precision=precision, seed=seed, overwrite=overwrite,
        license=license, about=about)
    settings.set_optimizer(optimizer, optimizer_options or {}, weight_decay, clip)
    reporter = _Reporter(progress, callback)
    with tempfile.TemporaryDirectory(prefix="weft-") as temporary:
        settings.folder = os.fspath(out) if out is not None else os.path.join(temporary, "run")
        source.start(settings, reporter.stepped, reporter.evaluated, callback is not None)
        model = _best_model(settings.folder)
    return Run(model, reporter.metrics, settings.folder if out is not None else None)


def _best_model(folder: str) -> Any:
    """The best checkpoint of a run, read into memory, so that the model does not depend on the run's folder."""
    from . import _from_bytes  # not at the top, because weft/__init__.py imports this file

    with open(os.path.join(folder, "best", "model.safetensors"), "rb") as file:
        return _from_bytes(file.read(), None)
