"""gMLP, TNN and FNet on CPUs: saved models, and the two operations that PyTorch lacks.

>>> import weft
>>> model = weft.load("news")
>>> model.classify("Oil prices soar as supply fears grow")
Prediction(label='Business', probability=0.98...)

Arrays are numpy's, and anything that has DLPack or the buffer protocol, in the CPU's memory, of any strides. What is
given is read where it lies, and a result is an array over weft's own memory, but for these copies: lists and integers
other than int64 become int64 arrays, bfloat16 results become float32 (numpy has no bfloat16), and the few tokens that a
`Stream` is given are kept by it. Every call that takes long runs without the interpreter's lock, so that threads of Python
run beside it, and beside one another in one model.

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
Error.__doc__ = "What weft refuses, or could not do: the message says what it expected and what it got."

__all__ = ["Error", "Model", "Prediction", "Stream", "__version__", "fourier_mix", "load", "set_threads", "threads",
           "toeplitz_product"]

ArrayLike = Any  # numpy's array, or any with DLPack or the buffer protocol


class Prediction(NamedTuple):
    """A label and how probable it is, 0 … 1."""

    label: str
    probability: float


def load(folder: Union[str, os.PathLike[str]], precision: Union[str, None] = None, *, copy: bool = False) -> Model:
    """Loads a checkpoint's folder, or the best checkpoint of a run's, for inference.

    The weights stay in the file, which may be replaced or removed meanwhile, but not be cut or written in place: that ends
    the process by SIGBUS, unless they are copied.

    precision: "f32" or "bf16", what it computes in; None: what it was saved for.
    copy: the weights are read into memory, and nothing that happens to the file later matters. For programs that run long.
    Raises Error, naming the file, if it is missing, damaged or none of weft's.
    """
    return Model(_weft.Loaded(os.fspath(folder), precision, copy))


class Model:
    """A saved model with its tokenizer, as `load` gives it. Threads may share it."""

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
        """What it computes in: "f32" or "bf16"."""
        return self._loaded.precision

    @property
    def tokenizer(self) -> str:
        """The kind of its tokenizer: "characters", "words", …"""
        return self._loaded.tokenizer

    @property
    def config(self) -> dict[str, Any]:
        """The architecture's own fields."""
        return json.loads(self._loaded.config)

    @property
    def vocabulary(self) -> int:
        """Tokens are 0 … vocabulary - 1."""
        return self._loaded.vocabulary

    @property
    def outputs(self) -> int:
        """How many logits: symbols of the vocabulary, or classes."""
        return self._loaded.outputs

    @property
    def max_length(self) -> int:
        """The longest sequence it takes, in tokens; 0: any."""
        return self._loaded.max_length

    @property
    def labels(self) -> list[str]:
        """Of a classifier the names of its classes."""
        return self._loaded.labels

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return self._loaded.parameters

    def __repr__(self) -> str:
        return f"<weft.Model {self.architecture} {self.task}, {self.parameters} parameters>"

    def __call__(self, tokens: ArrayLike) -> npt.NDArray[np.float32]:
        """The logits of sequences of tokens.

        tokens: integers (n) or (rows, n); in classifiers token 0 is padding.
        Gives (n, outputs) or (rows, n, outputs); of a classifier (outputs) or (rows, outputs).
        """
        ids = _integers(tokens)
        if ids.ndim == 1:
            return self._loaded.logits(ids[None])[0]
        return self._loaded.logits(ids)

    def encode(self, text: str) -> npt.NDArray[np.int64]:
        """The tokens of a text, (n)."""
        return self._loaded.encode(text)

    def decode(self, tokens: ArrayLike) -> str:
        """The text of tokens; bytes that are no UTF-8, which the tokenizer "bytes" has, become U+FFFD."""
        return self._loaded.decode(_integers(tokens).ravel().tolist()).decode("utf-8", errors="replace")

    @overload
    def classify(self, texts: str) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Sequence[str]) -> list[Prediction]: ...
    def classify(self, texts: Union[str, Sequence[str]]) -> Union[Prediction, list[Prediction]]:
        """The most probable label of a text, or of each of several. Of a classifier alone."""
        given = [texts] if isinstance(texts, str) else texts
        rows = self.probabilities(given)
        labels = self.labels
        best = [Prediction(labels[i], float(row[i])) for row, i in zip(rows, rows.argmax(axis=1))] if len(rows) else []
        return best[0] if isinstance(texts, str) else best

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """(texts, labels): a text's are the same bits alone and beside others. Of a classifier alone."""
        if isinstance(texts, str):
            raise TypeError("texts: expected a list of texts, got one: [text]")
        return self._loaded.probabilities(list(texts))

    def stream(self) -> Stream:
        """An empty text that grows token by token. Of a causal language model alone."""
        return Stream(self._loaded.stream())

    def generate(self, prompt: str = "", tokens: int = 200, *, temperature: float = 1.0, top_k: int = 0,
                 top_p: float = 1.0, seed: int = 1, stop: Sequence[str] = ()) -> Iterator[str]:
        """Continues a text: an iterator of the pieces that follow the prompt, each computed when it is asked for.

        "".join(model.generate(…)) is the whole; leaving the loop ends it. Of a causal language model alone.

        tokens: how many symbols at most
        temperature: divides the logits; 0: always the most likely symbol
        top_k: choose among the k most likely; 0: among all
        top_p: of these among the most likely that have this probability together
        seed: of the choices; with the same model, prompt and options they are the same
        stop: texts before the first of which it ends
        """
        if isinstance(stop, str):
            stop = [stop]
        # Mistakes are raised here, not when the first piece is asked for.
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
    """A text that grows token by token, as `Model.stream` gives it."""

    def __init__(self, stream: _weft.Stream) -> None:
        self._stream = stream

    def append(self, tokens: ArrayLike) -> npt.NDArray[np.float32]:
        """Appends a token, or several, (n), at the cost of one pass: the logits (vocabulary) for the one after them."""
        return self._stream.append(np.atleast_1d(_integers(tokens)))

    def copy(self) -> Stream:
        """A text that goes on from here by itself."""
        return Stream(self._stream.copy())


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

    x: (b, h, n, d), float32 or float64; also bfloat16, by DLPack, beside a float32 t; then the result is float32
    t: of x's dtype: (h, 2n-1, d), lags -(n-1) … n-1; causal: (h, n, d), lags 0 … n-1, the sum over j <= i
    form: how it is computed: "automatic", or "naive", "matrix", "ring"
    """
    return _weft.toeplitz_product(x, t, causal, form, False)


def fourier_mix(x: ArrayLike, sequence_dim: int = -2, hidden_dim: int = -1) -> npt.NDArray[Any]:
    """FNet's mixing (arXiv 2105.03824): the real part of the Fourier transforms along both axes, not normalised.

    x: (…, n, …, d), float32 or float64; also bfloat16, by DLPack; then the result is float32
    """
    return _weft.fourier_mix(x, sequence_dim, hidden_dim, False)


def set_threads(count: int) -> None:
    """How many threads weft's loops use, in the whole process: 1 … 1024."""
    _weft.set_threads(count)


def threads() -> int:
    """How many threads weft's loops use; at first as many as there are CPUs, or OMP_NUM_THREADS."""
    return _weft.threads()
