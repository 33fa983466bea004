"""Estimators for scikit-learn: `WeftClassifier` and `WeftRegressor`.

>>> from weft.sklearn import WeftClassifier
>>> classifier = WeftClassifier(arch="tnn", epochs=5).fit(texts, labels)
>>> classifier.predict(["Oil prices soar"])

The estimators work in pipelines, grid searches and cross-validation, and can be pickled. X is a list of texts (or of
tuples of two texts), a matrix (rows, n), or an array (rows, n, channels). A model reads each row of a matrix as a
sequence of n numbers. An array of uint8 with three or four axes contains pictures, as for `weft.train`.
"""

from __future__ import annotations

from typing import Any, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ._train import train

__all__ = ["WeftClassifier", "WeftRegressor"]


def _are_texts(X: Any) -> bool:
    """Whether X is a list, a column or a one-dimensional array of texts, or of pairs of texts."""
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or len(X) == 0:
        return False
    first = X.iloc[0] if hasattr(X, "iloc") else X[0]
    return isinstance(first, str) or (isinstance(first, tuple) and all(isinstance(part, str) for part in first))


class _Estimator(BaseEstimator):
    """The common part of both estimators.

    Parameters
    ----------
    arch : "gmlp", "tnn" or "fnet"
    layers, d_model, dropout : sizes of the model
    length : maximum length of a text, in tokens; None: the architecture's default. Rows of numbers are never truncated
    steps, epochs : length of the training; None: the default of `weft.train`
    batch, lr : number of rows in a step, and the highest learning rate
    validation : share of the rows in the validation set, which determines the best checkpoint; None: the validation set
        is the whole training set
    settings : other arguments of `weft.train`, in a dictionary
    random_state : seed of the initial parameters and of the order of the batches
    """

    def __init__(self, arch: str = "gmlp", *, layers: int = 2, d_model: int = 64, dropout: float = 0.0,
                 length: Union[int, None] = None, steps: Union[int, None] = None, epochs: Union[float, None] = None,
                 batch: int = 32, lr: float = 2e-3, validation: Union[float, None] = None,
                 settings: Union[dict[str, Any], None] = None, random_state: Any = 0) -> None:
        self.arch = arch
        self.layers = layers
        self.d_model = d_model
        self.dropout = dropout
        self.length = length
        self.steps = steps
        self.epochs = epochs
        self.batch = batch
        self.lr = lr
        self.validation = validation
        self.settings = settings
        self.random_state = random_state

    def _training_rows(self, X: Any, y: Any, y_numeric: bool = False) -> tuple[Any, np.ndarray]:
        """The rows for `fit`, which are a list of texts or an array of numbers, and their targets."""
        if _are_texts(X):
            rows, targets = list(X), np.asarray(y, dtype=float if y_numeric else None)
        else:
            rows, targets = validate_data(self, X, y, dtype="numeric", allow_nd=True, ensure_min_samples=2,
                                          y_numeric=y_numeric)
        return rows, column_or_1d(targets, warn=True)

    def _rows(self, X: Any) -> Any:
        """The rows for predictions: a list of texts, or an array with as many columns as in `fit`."""
        return list(X) if _are_texts(X) else validate_data(self, X, dtype="numeric", allow_nd=True, reset=False)

    def _train(self, X: Any, labels: Any, task: str) -> None:
        are_numbers = isinstance(X, np.ndarray)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        run = train(X, labels, arch=self.arch, task=task, layers=self.layers, d_model=self.d_model,
                    dropout=self.dropout, length=None if are_numbers else self.length, steps=self.steps,
                    epochs=self.epochs, batch=self.batch, lr=self.lr,
                    validation=(X, labels) if self.validation is None else self.validation, seed=int(seed),
                    progress=False, **(self.settings or {}))
        self.model_ = run.model
        self.metrics_ = run.metrics


class WeftClassifier(ClassifierMixin, _Estimator):
    __doc__ = "A classifier of texts or of rows of numbers.\n" + (_Estimator.__doc__ or "").split("\n", 1)[1]

    def fit(self, X: Any, y: Any) -> WeftClassifier:
        """Trains a new model on rows X with labels y."""
        rows, targets = self._training_rows(X, y)
        check_classification_targets(targets)
        self.classes_, indices = np.unique(targets, return_inverse=True)
        self._train(rows, [str(index) for index in indices], "classifier")
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities (rows, classes), with the classes in the order of `classes_`."""
        check_is_fitted(self)
        return self.model_.probabilities(self._rows(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class WeftRegressor(RegressorMixin, _Estimator):
    __doc__ = "Predicts a number for texts or for rows of numbers.\n" + (_Estimator.__doc__ or "").split("\n", 1)[1]

    def fit(self, X: Any, y: Any) -> WeftRegressor:
        """Trains a new model on rows X with numbers y."""
        rows, targets = self._training_rows(X, y, y_numeric=True)
        self._train(rows, [float(target) for target in targets], "regression")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row."""
        check_is_fitted(self)
        return self.model_.predict(self._rows(X))[:, 0]
