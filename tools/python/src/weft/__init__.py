"""gMLP, TNN and FNet on CPUs: training, saved models, and custom models.

>>> import weft
>>> run = weft.train(["Oil prices soar", "A late goal", …], ["Business", "Sports", …], out="news")
>>> model = weft.load("news")
>>> model.classify("Oil prices soar as supply fears grow")
Prediction(label='Business', probability=0.98...)

With ``weft.nn`` (layers), ``weft.ops`` (operations on `Tensor`) and ``weft.optim`` (optimizers), a program can define
and train its own models. ``weft.torch`` has two operations for PyTorch's autograd, and ``weft.sklearn`` has estimators
for scikit-learn.

Arguments are numpy arrays, or any arrays with DLPack or the buffer protocol, in the CPU's memory, with any strides.
Results are not copied, except that bfloat16 becomes float32, because numpy has no bfloat16. Saved models copy tokens,
so that the caller may change them at any time. Lists, and integers other than int64, become int64 arrays.
Long calls release the interpreter's lock (the GIL), so that other Python threads can run. Threads can share one model.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _weft, nn, ops, optim
from ._arguments import checked
from ._files import write_file
from ._rows import is_numbers, listed, numbers_for, series_of, text_of
from ._train import Run, train
from ._weft import Error, Gradients, Parameter, Random, Tape, Tensor

__version__: str = _weft.version
for _type in (Error, Gradients, Parameter, Random, Tape, Tensor):
    _type.__module__ = "weft"
Error.__doc__ = "An error of weft: the message says what was expected and what was given."

__all__ = ["Error", "Gradients", "Model", "Parameter", "Prediction", "Random", "Run", "Stream", "Tape", "Tensor",
           "__version__", "fourier_mix", "load", "nn", "ops", "optim", "set_threads", "tensor", "threads",
           "toeplitz_product", "train"]

Rows = Any  # a list of texts, an array of numbers (rows, n) or (rows, n, channels), or an array of pictures
ArrayLike = Any  # a numpy array, or any array with DLPack or the buffer protocol

for _type, _names in ((Tape, ("watch", "gradients", "backward")), (Random, ("split", "uniform", "normal"))):
    for _name in _names:
        setattr(_type, _name, checked(getattr(_type, _name)))
del _type, _names, _name


class Prediction(NamedTuple):
    """A label and its probability, from 0 to 1."""

    label: str
    probability: float


@checked
def load(folder: Union[str, os.PathLike[str]], precision: Union[str, None] = None, *, copy: bool = False) -> Model:
    """Loads a checkpoint for inference.

    By default, weft maps model.safetensors into memory. While the model is used, another program may replace or remove
    this file, but must not truncate it or overwrite it in place: the operating system would then kill the process
    (SIGBUS).

    folder: the folder of a checkpoint, or of a run, whose best checkpoint is then loaded
    precision: "f32" or "bf16", the precision of the computation; None: the precision of the checkpoint
    copy: whether to copy the weights into memory, so that later changes of model.safetensors have no effect. This is
        useful for long-running programs
    Raises an Error that names the file if a file of the checkpoint is missing, damaged, or in an unknown format.
    """
    if os.path.isfile(folder):
        raise Error(f'[load] expected the folder of a run or a checkpoint, got the file "{os.fspath(folder)}"; '
                    "call load() of a weft.nn.Module to read such a file")
    return Model(_weft.Loaded(os.fspath(folder), precision, copy))


class Model:
    """A saved model with its tokenizer, as `load` returns it. Several threads may share it."""

    def __init__(self, loaded: _weft.Loaded) -> None:
        self._loaded = loaded

    @property
    def architecture(self) -> str:
        """The name of the architecture: "gmlp", "tnn", "fnet", …"""
        return self._loaded.architecture

    @property
    def task(self) -> str:
        """The name of the task: "causal-lm", "masked-lm", "classifier", …"""
        return self._loaded.task

    @property
    def precision(self) -> str:
        """The precision of the computation: "f32" or "bf16"."""
        return self._loaded.precision

    @property
    def tokenizer(self) -> str:
        """The kind of the model's tokenizer: "characters", "words", …"""
        return self._loaded.tokenizer

    @property
    def config(self) -> dict[str, Any]:
        """The options of the architecture, by name."""
        return json.loads(self._loaded.config)

    @property
    def card(self) -> dict[str, Any]:
        """Where the model comes from: "license", "about" (a description), "data", "settings" (those of the training, by
        name) and "validation" (the metrics of the evaluation, by name). What is unknown is empty."""
        return {**self._loaded.card, "settings": json.loads(self._loaded.card["settings"] or "{}")}

    @property
    def vocabulary(self) -> int:
        """The size of the vocabulary. Tokens are the integers from 0 to vocabulary - 1."""
        return self._loaded.vocabulary

    @property
    def outputs(self) -> int:
        """The number of outputs for each token or row: symbols, classes, tags, numbers, or dimensions of a vector."""
        return self._loaded.outputs

    @property
    def max_length(self) -> int:
        """The maximum length of a sequence, in tokens. 0 means that there is no limit."""
        return self._loaded.max_length

    @property
    def labels(self) -> list[str]:
        """The names of the outputs, such as a classifier's classes. Empty for models whose outputs have no names."""
        return self._loaded.labels

    @property
    def parameters(self) -> int:
        """The number of values in all parameters."""
        return self._loaded.parameters

    def __repr__(self) -> str:
        return f"<weft.Model {self.architecture} {self.task}, {self.parameters} parameters>"

    def __call__(self, tokens: ArrayLike) -> npt.NDArray[np.float32]:
        """The logits of sequences of tokens.

        tokens: integers (n) or (rows, n). For tasks on rows, token 0 is padding.
        Returns an array (n, outputs) or (rows, n, outputs). For tasks with one output per row (classifier, regression,
        multilabel and retrieval), returns an array (outputs) or (rows, outputs).
        """
        ids = _integers(tokens)
        if ids.ndim == 1:
            return self._loaded.logits(ids[None])[0]
        return self._loaded.logits(ids)

    @checked
    def encode(self, text: str) -> npt.NDArray[np.int64]:
        """The tokens of a text, (n)."""
        return self._loaded.encode(text)

    def decode(self, tokens: ArrayLike) -> str:
        """The text of these tokens. With the tokenizer "bytes", bytes that are not valid UTF-8 become U+FFFD."""
        return self._loaded.decode(_integers(tokens).ravel().tolist()).decode("utf-8", errors="replace")

    @overload
    def classify(self, rows: str) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, rows: Rows) -> list[Prediction]: ...
    @overload
    def classify(self, rows: str, top: int) -> list[Prediction]: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, rows: Rows, top: int) -> list[list[Prediction]]: ...
    @checked
    def classify(self, rows: Any, top: Union[int, None] = None) -> Any:
        """The most probable label of a text, or of each row. The model must be a classifier.

        rows: a text, a list of texts, or an array of numbers as in training; for a model of pairs of texts, a list of
            tuples of two texts
        top: returns for each row a list of this many labels, the most probable first; None: returns for each row the
            most probable label, not in a list
        """
        if top is not None and top < 1:
            raise ValueError(f"top: expected at least 1, got {top}")
        is_one = isinstance(rows, str)
        labels, best = self.labels, []
        for row in self.probabilities([rows] if is_one else rows):
            order = np.argsort(-row, kind="stable")[:top or 1]
            best.append([Prediction(labels[k], float(row[k])) for k in order])
        answers = best if top is not None else [predictions[0] for predictions in best]
        return answers[0] if is_one else answers

    def probabilities(self, rows: Union[str, Rows]) -> npt.NDArray[np.float64]:
        """The probabilities (rows, labels), or (labels) for a single text. The model must be a classifier. The
        probabilities of a row do not depend on the other rows, bit for bit."""
        if isinstance(rows, str):
            return self.probabilities([rows])[0]
        return self._loaded.probabilities(self._rows(rows))

    @checked
    def predict(self, rows: Union[str, Rows], threshold: float = 0.5) -> Any:
        """The predictions of a model for regression, multilabel or tagging, for each row or for a single text.

        Regression returns an array (rows, outputs). Multilabel returns for each row a list of `Prediction`: the labels
        whose probability is at least `threshold`. Tagging returns for each text a list of (word, tag), and for each row
        of numbers a list of tags, one for each frame.
        """
        if isinstance(rows, str):
            return self.predict([rows], threshold)[0]
        if self.task == "multilabel":
            found = self._loaded.several_labels(self._rows(rows), threshold)
            return [[Prediction(label, probability) for label, probability in row] for row in found]
        if self.task == "tagging":
            tagged = self._loaded.tags(self._rows(rows))
            return [[tag for _, tag in row] for row in tagged] if self._loaded.channels > 0 else tagged
        return self._loaded.numbers(self._rows(rows))

    def forecast(self, series: Any) -> npt.NDArray[np.float64]:
        """The numbers that follow a series, (horizon, targets). The model must have the task forecast.

        series: an array (n) or (n, columns), or a pandas table with the columns that the model was trained on
            (other columns are ignored). The model reads the last rows. The columns of the result are the targets that
            the model was trained on
        """
        if hasattr(series, "columns") and self.task == "forecast":
            series = series[self._loaded.columns]
        values = self._loaded.forecast(series_of(series)[0])
        targets = len({label.rpartition("+")[0] for label in self.labels})
        return values.reshape(targets, -1).T

    def _rows(self, rows: Any) -> Union[list[str], npt.NDArray[Any]]:
        """Rows for the C++ module: a list of texts, or an array (rows, n) with the numbers of each row."""
        if is_numbers(rows):
            return numbers_for(self._loaded, rows)
        if self._loaded.channels > 0:
            raise TypeError("rows: expected an array of numbers, because the model reads numbers")
        return _list_of_texts(rows)

    @checked
    def embed(self, texts: Union[str, Rows], *, pooling: str = "mean") -> npt.NDArray[np.float32]:
        """The vectors of texts, (texts, dimensions), or the vector of a single text, (dimensions).

        Each vector has the Euclidean norm 1. Models for the task retrieval are trained to compute vectors. For other
        models, `pooling` says how the features of a text's tokens become a vector: "mean" is their mean, and "first"
        takes those of the first token, [CLS]."""
        if isinstance(texts, str):
            return self.embed([texts], pooling=pooling)[0]
        return self._loaded.vectors(_list_of_texts(texts), pooling)

    @checked
    def save(self, folder: Union[str, os.PathLike[str]]) -> None:
        """Writes the model as a checkpoint, which `load` and the command can read.

        This method, and pickling, read model.safetensors again, unless the model was trained in this process."""
        os.makedirs(folder, exist_ok=True)
        config = os.path.join(folder, "config.json")
        if os.path.exists(config):  # that of another model; model.safetensors has the same content in its metadata
            os.remove(config)
        write_file(self._loaded.bytes, os.path.join(folder, "model.safetensors"))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self._loaded.bytes, self._loaded.given_precision)

    def stream(self) -> Stream:
        """An empty text that grows token by token. The model must be a causal language model."""
        return Stream(self._loaded.stream())

    @checked
    def generate(self, prompt: str = "", tokens: int = 200, *, temperature: float = 1.0, top_k: int = 0,
                 top_p: float = 1.0, seed: int = 1, stop: Iterable[str] = (), speculate: bool = False) -> Iterator[str]:
        """Continues a text. Returns an iterator over the pieces that follow the prompt, and computes each on demand.

        "".join(model.generate(…)) is the whole continuation. A program that leaves a loop over the pieces ends the
        generation. The model must be a causal language model.

        tokens: the maximum number of symbols
        temperature: divides the logits; 0: always chooses the most likely symbol
        top_k: chooses among the k most likely symbols; 0: among all symbols
        top_p: chooses among the smallest set of the most likely of these symbols whose probabilities add up to at least
            top_p
        seed: the seed of sampling; the same model, prompt, options and seed give the same text
        stop: the continuation ends before the first occurrence of any of these texts
        speculate: guesses symbols from repetitions in the text, and checks several guesses at once. The result is the
            same. Large models generate code and other texts with repetitions faster
        """
        if isinstance(stop, str):
            stop = [stop]
        # This call is not in _pieces, so that it raises errors before the first piece is requested.
        generation = self._loaded.generation(prompt, tokens, temperature, top_k, top_p, seed, list(stop), speculate)
        return _pieces(generation)


def _pieces(generation: _weft.Continuation) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # a piece may end inside a character
    while (piece := generation.next()) is not None:
        if text := decoder.decode(piece):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


class Stream:
    """A text that grows token by token, as `Model.stream` returns it."""

    def __init__(self, stream: _weft.Stream) -> None:
        self._stream = stream

    def append(self, tokens: ArrayLike) -> npt.NDArray[np.float32]:
        """Appends one token, or n tokens in one pass. Returns the logits (vocabulary) of the next token."""
        return self._stream.append(np.atleast_1d(_integers(tokens)))

    def copy(self) -> Stream:
        """A copy of this stream, to which tokens can be appended independently."""
        return Stream(self._stream.copy())


def _list_of_texts(rows: Any) -> list[str]:
    if isinstance(rows, str):
        raise TypeError("rows: expected a list of texts, got a single text; use [text]")
    return [text_of(text) for text in listed("rows", rows)]


def _from_bytes(content: bytes, precision: Union[str, None]) -> Model:
    return Model(_weft.Loaded.from_bytes(content, precision))


def _integers(tokens: ArrayLike) -> npt.NDArray[np.int64]:
    """The tokens themselves if they are an int64 array, otherwise a copy."""
    if not isinstance(tokens, np.ndarray) and hasattr(tokens, "__dlpack__"):
        tokens = np.from_dlpack(tokens)
    ids = np.asarray(tokens)
    if ids.size == 0 and not isinstance(tokens, np.ndarray):
        return ids.astype(np.int64)  # an empty list
    if not np.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"tokens: expected integers, got {ids.dtype}")
    return ids.astype(np.int64, copy=False)


_TYPES = {"f32": np.float32, "f64": np.float64, "bf16": np.float32, "i64": np.int64, "i8": np.int8, "c64": np.complex64,
          "c128": np.complex128}


def _numbers(values: Any, dtype: Union[str, None]) -> npt.NDArray[Any]:
    """The values as an array with a dtype that tensors support: the given dtype, or the most similar one."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"tensor: expected numbers, got {array.dtype}")
    if dtype is not None:
        return array.astype(_TYPES[dtype])
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise OverflowError(f"tensor: expected integers below 2^63, got {array.max()}")
    if array.dtype.kind in "iub" and array.dtype not in (np.int64, np.int8):
        return array.astype(np.int64)
    if array.dtype == np.float16 or (array.dtype == np.float64 and not hasattr(values, "dtype")):
        return array.astype(np.float32)
    return array


def tensor(values: Any, dtype: Any = None) -> Tensor:
    """A tensor with a copy of these values.

    values: an array, or a number or nested lists of numbers. By default, the tensor has the dtype of the array, except
        that int32 and bool become int64, and float16 becomes float32. Numbers and lists become float32 or int64
    dtype: "f32", "f64", "bf16", "i64", "i8", "c64" or "c128", or a numpy dtype
    """
    dtype = None if dtype is None else _weft.dtype_name(dtype)
    if isinstance(values, (Tensor, Parameter)):
        made = Tensor(np.array(values.numpy())) if values.dtype != "bf16" else Tensor(values)
    elif hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        made = Tensor(values)
    else:
        made = Tensor(_numbers(values, dtype))
    return made if dtype in (None, made.dtype) else ops.cast(made, dtype)


@checked
def toeplitz_product(x: ArrayLike, t: ArrayLike, causal: bool = False, *,
                     form: str = "automatic") -> npt.NDArray[Any]:
    """TNN's mixing (arXiv 2305.04749): y_i = sum over j of t_(i-j) x_j, in O(n log n).

    x: (b, h, n, d), float32 or float64. It may also be a bfloat16 array with DLPack; t and the result are then float32
    t: (h, 2n-1, d) for the lags -(n-1) … n-1, with the dtype of x
    causal: sums only over j <= i; t then is (h, n, d), for the lags 0 … n-1
    form: the algorithm: "automatic", "naive", "matrix" or "ring"
    """
    return _weft.toeplitz_product(x, t, causal, form, False)


@checked
def fourier_mix(x: ArrayLike, sequence_dim: int = -2, hidden_dim: int = -1) -> npt.NDArray[Any]:
    """FNet's mixing (arXiv 2105.03824): the real part of the Fourier transform along both axes, without normalization.

    x: (…, n, …, d), float32 or float64. It may also be a bfloat16 array with DLPack; the result is then float32
    """
    return _weft.fourier_mix(x, sequence_dim, hidden_dim, False)


@checked
def set_threads(count: int) -> None:
    """Sets the number of threads that weft uses in the whole process, from 1 to 1024."""
    _weft.set_threads(count)


def threads() -> int:
    """The number of threads that weft uses. The default is OMP_NUM_THREADS if it is set, or else the number of CPUs."""
    return _weft.threads()
