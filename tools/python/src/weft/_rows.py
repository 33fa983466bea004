"""Converts rows for training and for predictions from a program's types to those of the C++ module."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _weft
from ._arguments import caller_level

Text = Union[str, tuple[str, str]]  # a text, or a pair of texts


def text_of(text: Any, row: Union[int, None] = None) -> str:
    """A row that is one text, or a pair of texts, given as a tuple. row: the index of the row, for errors."""
    if isinstance(text, str):
        return str(text)
    if isinstance(text, tuple) and len(text) == 2 and all(isinstance(part, str) for part in text):
        return _weft.text_pair(*text)
    place = "" if row is None else f" in row {row}"
    raise TypeError(f"texts: expected a text or a tuple of two texts{place}, got {text!r}")


def is_numbers(data: Any) -> bool:
    """Whether the data are rows of numbers: an array, a tensor or a pandas table of numbers, or a list of rows."""
    if isinstance(data, (list, tuple)) and len(data) > 0 and isinstance(data[0], (list, np.ndarray)):
        try:
            return np.asarray(data).dtype.kind in "iuf"
        except ValueError as error:
            raise ValueError("data: expected texts, or rows of numbers that all have the same shape; use padding for "
                             "rows of different lengths") from error
    return (hasattr(data, "dtype") or hasattr(data, "dtypes")) and np.issubdtype(np.asarray(data).dtype, np.number)


def numbers_of(data: Any) -> npt.NDArray[Any]:
    """Rows of numbers as frames (rows, n, channels) float32, or as pictures (rows, height, width, channels) uint8.

    A matrix (rows, n) has one channel. Arrays of uint8 with three or four axes are pictures. With three axes, they are
    gray."""
    given = np.asarray(data)
    if np.iscomplexobj(given):
        raise ValueError("data: complex data not supported, expected real numbers")
    if given.dtype == np.uint8 and given.ndim in (3, 4):
        pictures = given if given.ndim == 4 else given[:, :, :, None]
        if pictures.shape[3] not in (1, 3):
            raise ValueError(f"data: expected pictures of 1 or 3 channels, got shape {given.shape}")
        return np.ascontiguousarray(pictures)
    frames = given.astype(np.float32)
    if frames.ndim == 2:
        frames = frames[:, :, None]
    if frames.ndim != 3 or 0 in frames.shape[1:]:
        hint = "; a single row needs an axis for rows: x[None]" if frames.ndim == 1 else ""
        raise ValueError("data: expected numbers (rows, n) or (rows, n, channels), or pictures (rows, height, width[, "
                         f"channels]) of uint8, got shape {given.shape} of {given.dtype}{hint}")
    _check_finite(frames)
    return np.ascontiguousarray(frames)


def _check_finite(numbers: npt.NDArray[np.float32]) -> None:
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        row = int(np.argwhere(~is_finite)[0][0])
        raise ValueError(f"data: row {row} has a NaN, or a number that is infinite or too large for float32")


def flat(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers as a matrix (rows, n), for the C++ module: float32, or int8 with the bytes of pictures."""
    rows = numbers.reshape(len(numbers), math.prod(numbers.shape[1:]))
    return rows.view(np.int8) if rows.dtype == np.uint8 else rows


def numbers_for(loaded: _weft.Loaded, data: Any) -> npt.NDArray[Any]:
    """Rows of numbers as a matrix (rows, n). Raises an error unless the model reads rows of this shape."""
    numbers = numbers_of(data)
    if loaded.channels == 0:
        raise TypeError(f"rows: expected texts, got numbers of shape {numbers.shape}")
    height, width, channels = loaded.picture
    if height > 0:
        wanted, axes, shape = (height, width, channels), 4, "pictures (rows, height, width, channels)"
    else:
        wanted, axes, shape = (channels,), 3, "numbers (rows, n, channels)"
    if numbers.ndim != axes or numbers.shape[-len(wanted):] != wanted:
        is_one_row = np.shape(data) in (wanted, wanted[:-1])
        hint = "; a single picture needs an axis for rows: x[None]" if is_one_row else ""
        raise ValueError(f"rows: expected {shape} whose shape ends in {wanted}, got {np.shape(data)}{hint}")
    if axes == 3 and 0 < loaded.max_length < numbers.shape[1]:
        raise ValueError(f"rows: expected at most {loaded.max_length} frames, got {numbers.shape[1]}")
    return flat(numbers)


def listed(name: str, values: Any) -> list[Any]:
    """The elements of a list, a numpy array, a pandas column, a table of one column, or an iterator."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected a list, got {type(values).__name__}")
    if hasattr(values, "columns") and len(values.columns) == 1:
        values = np.asarray(values)[:, 0]
    if getattr(values, "ndim", 1) != 1:
        raise TypeError(f"{name}: expected a list or one column, got {type(values).__name__} of shape {values.shape}")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def series_of(data: Any) -> tuple[npt.NDArray[np.float32], list[str]]:
    """A series as (n, columns) float32, and the names of its columns: those of a pandas table, or "0", "1", …"""
    given = np.asarray(data)
    if given.dtype.kind not in "biuf" or given.ndim not in (1, 2) or given.size == 0:
        raise TypeError(f"data: expected a series of numbers (n) or (n, columns), got {given.dtype} of shape "
                        f"{given.shape}")
    numbers = np.ascontiguousarray(given.reshape(len(given), -1), dtype=np.float32)
    _check_finite(numbers)
    names = getattr(data, "columns", range(numbers.shape[1]))
    return numbers, [str(name) for name in names]


_MISSING = ("NAType", "NaTType")  # the types of pandas.NA and pandas.NaT


def _plain(label: Any, row: int) -> Any:
    """A label with Python's types instead of numpy's."""
    if isinstance(label, (list, tuple, np.ndarray)):
        return [_plain(part, row) for part in label]
    if isinstance(label, (set, frozenset)):
        return sorted(_plain(part, row) for part in label)
    label = label.item() if isinstance(label, np.generic) else label
    if label is None or (isinstance(label, float) and math.isnan(label)) or type(label).__name__ in _MISSING:
        raise ValueError(f"labels: expected a label for each row, got {label!r} in row {row}")
    return label


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"labels: expected finite numbers, got {value!r}")
    return repr(float(value))


def task_of(labels: Sequence[Any]) -> str:
    """The task for labels of these types: regression if any is a float, else multilabel if any label is a list."""
    several = any(isinstance(label, list) for label in labels)
    parts = [part for label in labels for part in (label if isinstance(label, list) else [label])]
    if any(isinstance(part, float) for part in parts):
        return "regression"
    return "multilabel" if several else "classifier"


def label_text(task: str, label: Any) -> str:
    """A label in the text format that the library reads."""
    if task == "regression":
        return " ".join(_number(value) for value in (label if isinstance(label, list) else [label]))
    if task == "multilabel":
        return _joined(label, "|")
    if task == "tagging" and not isinstance(label, str):
        return _joined(label, " ")
    return str(label)


def _joined(label: Any, separator: str) -> str:
    """The names in a list, with a separator between them. An empty list becomes the separator itself."""
    if not isinstance(label, list):
        raise TypeError(f"labels: expected a list of labels for each row, got {label!r}")
    names = [str(name) for name in label]
    if wrong := [name for name in names if separator in name or not name]:
        raise ValueError(f"labels: expected nonempty names without {separator!r}, got {wrong[0]!r}")
    return separator.join(names) or separator


def _warn_of_numbers(task: str, labels: list[Any]) -> None:
    """Warns if the labels of a classifier look like the numbers of a regression."""
    if task != "classifier" or not all(isinstance(label, int) for label in labels):
        return
    distinct = len(set(labels))
    if distinct > 20 and distinct > len(labels) / 2:
        warnings.warn(f"labels: {len(labels)} rows have {distinct} distinct integers, each of which becomes a class; "
                      'give task="regression" if they are numbers to predict', stacklevel=caller_level())


def rows_of(data: Any, labels: Any, task: Union[str, None],
            known: Union[list[str], None] = None) -> tuple[_weft.Rows, str]:
    """The rows and their task. known: the labels that are allowed; None: all are allowed."""
    if isinstance(labels, np.ndarray) and labels.ndim == 2:
        labels = labels.tolist()  # several numbers or names for each row
    given = [_plain(label, row) for row, label in enumerate(listed("labels", labels))]
    if task is None:
        task = task_of(given)
        _warn_of_numbers(task, given)
    texts = [label_text(task, label) for label in given]
    if is_numbers(data):
        rows = numbers_of(data)
    else:
        rows = [text_of(text, row) for row, text in enumerate(listed("data", data))]
    if len(rows) != len(given):
        raise ValueError(f"labels: expected one label for each of {len(rows)} rows, got {len(given)}")
    if len(rows) < 2:
        raise ValueError(f"data: expected at least 2 rows, got {len(rows)} row")
    options = _weft.LabelOptions(known or [], task == "retrieval")
    if isinstance(rows, list):
        made = _weft.text_rows(rows, texts, options)
    elif rows.ndim == 4:
        made = _weft.picture_rows(flat(rows), *rows.shape[1:], texts, options)
    else:
        made = _weft.frame_rows(flat(rows), rows.shape[2], texts, options)
    return made, task
