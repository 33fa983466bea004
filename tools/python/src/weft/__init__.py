"""gMLP, TNN and FNet on CPUs: saved models, and the two operations that PyTorch lacks.

>>> import weft
>>> model = weft.load("news")
>>> model.classify("Oil prices soar as supply fears grow")
Prediction(label='Business', probability=0.98...)

Arguments are numpy arrays, or any arrays with DLPack or the buffer protocol, in the CPU's memory, with any strides.
Inputs and results are not copied, except that lists and integers other than int64 become int64 arrays, bfloat16 results
become float32 (numpy has no bfloat16), and a `Stream` keeps a copy of its tokens. Long calls release the interpreter's
lock, so that Python threads can run meanwhile, and can share one model.

``weft.torch`` has the operations for PyTorch's autograd.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _weft
from ._weft import Error

__version__: str = _weft.version
Error.__module__ = "weft"
Error.__doc__ = "An error of weft: the message says what was expected and what was given."

__all__ = ["Error", "Model", "Prediction", "Stream", "__version__", "fourier_mix", "load", "set_threads", "threads",
           "toeplitz_product"]

Text = Union[str, tuple[str, str]]  # a text, or a pair of texts
ArrayLike = Any  # a numpy array, or any array with DLPack or the buffer protocol


class Prediction(NamedTuple):
    """A label and its probability, 0 … 1."""

    label: str
    probability: float


def load(folder: Union[str, os.PathLike[str]], precision: Union[str, None] = None, *, copy: bool = False) -> Model:
    """Loads a checkpoint for inference. folder: a checkpoint's folder, or a run's, which means its best checkpoint.

    The weights stay in the file. It may be replaced or removed meanwhile, but must not be truncated or overwritten in
    place: that would end the process by SIGBUS, unless the weights are copied.

    precision: "f32" or "bf16", the precision of the computation; None: the checkpoint's own.
    copy: read the weights into memory, so that later changes of the file don't matter. For long-running programs.
    Raises Error, naming the file, if it is missing, damaged or not a checkpoint that weft can read.
    """
    return Model(_weft.Loaded(os.fspath(folder), precision, copy))


class Model:
    """A saved model with its tokenizer, as `load` returns it. Threads may share it."""

    def __init__(self, loaded: _weft.Loaded) -> None:
        self._loaded = loaded

    @property
    def architecture(self) -> str:
        """"gmlp", "tnn", "fnet", …"""
        return self._loaded.architecture

    @property
    def task(self) -> str:
        """"causal-lm", "masked-lm", "classifier", …"""
        return self._loaded.task

    @property
    def precision(self) -> str:
        """The precision of the computation: "f32" or "bf16"."""
        return self._loaded.precision

    @property
    def tokenizer(self) -> str:
        """The kind of its tokenizer: "characters", "words", …"""
        return self._loaded.tokenizer

    @property
    def config(self) -> dict[str, Any]:
        """The config of the architecture."""
        return json.loads(self._loaded.config)

    @property
    def vocabulary(self) -> int:
        """Tokens are 0 … vocabulary - 1."""
        return self._loaded.vocabulary

    @property
    def outputs(self) -> int:
        """The number of logits: symbols of the vocabulary, or classes."""
        return self._loaded.outputs

    @property
    def max_length(self) -> int:
        """The maximum length of a sequence, in tokens; 0: no limit."""
        return self._loaded.max_length

    @property
    def labels(self) -> list[str]:
        """The names of a classifier's classes; empty for other models."""
        return self._loaded.labels

    @property
    def parameters(self) -> int:
        """The number of trained values."""
        return self._loaded.parameters

    def __repr__(self) -> str:
        return f"<weft.Model {self.architecture} {self.task}, {self.parameters} parameters>"

    def __call__(self, tokens: ArrayLike) -> npt.NDArray[np.float32]:
        """The logits of sequences of tokens.

        tokens: integers (n) or (rows, n); in classifiers token 0 is padding.
        Returns (n, outputs) or (rows, n, outputs); for a classifier (outputs) or (rows, outputs).
        """
        ids = _integers(tokens)
        if ids.ndim == 1:
            return self._loaded.logits(ids[None])[0]
        return self._loaded.logits(ids)

    def encode(self, text: str) -> npt.NDArray[np.int64]:
        """The tokens of a text, (n)."""
        return self._loaded.encode(text)

    def decode(self, tokens: ArrayLike) -> str:
        """The text of tokens. Bytes that aren't UTF-8, which the tokenizer "bytes" may give, become U+FFFD."""
        return self._loaded.decode(_integers(tokens).ravel().tolist()).decode("utf-8", errors="replace")

    @overload
    def classify(self, texts: str) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[Text]) -> list[Prediction]: ...
    def classify(self, texts: Union[str, Sequence[Text]]) -> Union[Prediction, list[Prediction]]:
        """The most probable label of a text, or of each of several texts. Only for classifiers.

        For a model of pairs of texts, each element of the list is a tuple of two texts.
        """
        given = [texts] if isinstance(texts, str) else texts
        rows = self.probabilities(given)
        labels = self.labels
        best = [Prediction(labels[i], float(row[i])) for row, i in zip(rows, rows.argmax(axis=1))] if len(rows) else []
        return best[0] if isinstance(texts, str) else best

    def probabilities(self, texts: Sequence[Text]) -> npt.NDArray[np.float64]:
        """Probabilities (texts, labels); the bits don't depend on the other texts. Only for classifiers."""
        if isinstance(texts, str):
            raise TypeError("texts: expected a list of texts, got a single text: use [text]")
        return self._loaded.probabilities([_row(text) for text in texts])

    def stream(self) -> Stream:
        """An empty text that grows token by token. Only for causal language models."""
        return Stream(self._loaded.stream())

    def generate(self, prompt: str = "", tokens: int = 200, *, temperature: float = 1.0, top_k: int = 0,
                 top_p: float = 1.0, seed: int = 1, stop: Sequence[str] = ()) -> Iterator[str]:
        """Continues a text: an iterator of the pieces that follow the prompt, each computed on demand.

        "".join(model.generate(…)) is the whole continuation; leaving the loop ends it. Only for causal language models.

        tokens: maximum number of symbols
        temperature: divides the logits; 0: always the most likely symbol
        top_k: choose among the k most likely symbols; 0: among all
        top_p: of these, choose among the most likely symbols whose probabilities add up to this
        seed: seed of sampling; the same model, prompt, options and seed give the same text
        stop: ends before the first of these texts
        """
        if isinstance(stop, str):
            stop = [stop]
        # Raises errors here, not with the first piece.
        generation = self._loaded.generation(prompt, tokens, temperature, top_k, top_p, seed, list(stop))
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
        """Appends a token, or several (n) in one pass. Returns the logits (vocabulary) of the next token."""
        return self._stream.append(np.atleast_1d(_integers(tokens)))

    def copy(self) -> Stream:
        """A separate text with the same beginning."""
        return Stream(self._stream.copy())


def _row(text: Text) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, tuple) and len(text) == 2 and all(isinstance(part, str) for part in text):
        return _weft.text_pair(*text)
    raise TypeError(f"texts: expected a text or a tuple of two texts, got {text!r}")


def _integers(tokens: ArrayLike) -> npt.NDArray[np.int64]:
    """The tokens themselves if they are an int64 array, else a copy."""
    if not isinstance(tokens, np.ndarray) and hasattr(tokens, "__dlpack__"):
        tokens = np.from_dlpack(tokens)
    ids = np.asarray(tokens)
    if ids.size == 0 and not isinstance(tokens, np.ndarray):
        return ids.astype(np.int64)  # an empty list
    if not np.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"tokens: expected integers, got {ids.dtype}")
    return ids.astype(np.int64, copy=False)


def toeplitz_product(x: ArrayLike, t: ArrayLike, causal: bool = False, *,
                     form: str = "automatic") -> npt.NDArray[Any]:
    """TNN's mixing (arXiv 2305.04749): y_i = sum over j of t_(i-j) x_j, in O(n log n).

    x: (b, h, n, d), float32 or float64; or bfloat16, by DLPack, with a float32 t, which gives a float32 result
    t: dtype of x; (h, 2n-1, d), lags -(n-1) … n-1; causal: (h, n, d), lags 0 … n-1, the sum over j <= i
    form: algorithm: "automatic", "naive", "matrix" or "ring"
    """
    return _weft.toeplitz_product(x, t, causal, form, False)


def fourier_mix(x: ArrayLike, sequence_dim: int = -2, hidden_dim: int = -1) -> npt.NDArray[Any]:
    """FNet's mixing (arXiv 2105.03824): the real part of the Fourier transforms along both axes, not normalized.

    x: (…, n, …, d), float32 or float64; or bfloat16, by DLPack, which gives a float32 result
    """
    return _weft.fourier_mix(x, sequence_dim, hidden_dim, False)


def set_threads(count: int) -> None:
    """Sets the number of threads of weft's loops in the whole process: 1 … 1024."""
    _weft.set_threads(count)


def threads() -> int:
    """The number of threads of weft's loops; by default the number of CPUs, or OMP_NUM_THREADS."""
    return _weft.threads()
