"""The estimators for scikit-learn."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
from sklearn.datasets import load_iris, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from weft.sklearn import WeftClassifier, WeftRegressor

SMALL = {"layers": 1, "d_model": 16, "lr": 1e-2, "epochs": 20}
TEXTS = ["red apple", "green pear", "red cherry", "yellow banana", "green lime", "yellow lemon"] * 6
COLORS = ["red", "green", "red", "yellow", "green", "yellow"] * 6


@pytest.mark.parametrize("estimator", [WeftClassifier(**SMALL), WeftRegressor(**SMALL)], ids=lambda e: type(e).__name__)
def test_check_estimator(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [result for result in results if result["status"] == "failed"]
    assert not failed, [(result["check_name"], result["exception"]) for result in failed]


def test_iris_in_a_pipeline():
    x, y = load_iris(return_X_y=True)
    scores = cross_val_score(make_pipeline(StandardScaler(), WeftClassifier(**SMALL)), x, y, cv=3)
    assert scores.mean() > 0.9


def test_grid_search_over_texts():
    search = GridSearchCV(WeftClassifier(arch="tnn", length=8, **SMALL), {"d_model": [8, 16]}, cv=2)
    search.fit(np.array(TEXTS, dtype=object), COLORS)
    assert search.best_score_ > 0.9
    assert list(search.predict(["red apple", "yellow lemon"])) == ["red", "yellow"]


def test_probabilities_and_pickle():
    classifier = WeftClassifier(length=8, **SMALL).fit(TEXTS, COLORS)
    p = classifier.predict_proba(TEXTS[:3])
    assert p.shape == (3, 3) and list(classifier.classes_) == ["green", "red", "yellow"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(TEXTS[:3]), p)
    np.testing.assert_array_equal(WeftClassifier(length=8, **SMALL).fit(TEXTS, COLORS).predict_proba(TEXTS[:3]), p)


def test_classes_that_are_numbers_keep_their_order():
    y = np.array([10, 9, 10, 100, 9, 100] * 6)  # as texts, "10" < "100" < "9"
    classifier = WeftClassifier(length=8, **SMALL).fit(TEXTS, y)
    np.testing.assert_array_equal(classifier.predict(TEXTS[:6]), y[:6])


def test_more_than_ten_classes():
    texts = [f"word{k} other" for k in range(12)] * 10
    classifier = WeftClassifier(length=8, **{**SMALL, "epochs": 40}).fit(texts, list(range(12)) * 10)
    assert (classifier.predict(texts[:12]) == np.arange(12)).mean() > 0.8


def test_regression_and_a_validation_set():
    x, y = make_regression(300, 5, noise=1, random_state=0)
    regressor = WeftRegressor(**{**SMALL, "validation": 0.2, "epochs": 60}).fit(x[:200], y[:200])
    assert regressor.score(x[200:], y[200:]) > 0.8
    assert "loss" in regressor.metrics_[0]
