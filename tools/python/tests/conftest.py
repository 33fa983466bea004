"""Shared by the tests: checkpoints of tests/fixtures."""

from pathlib import Path

import pytest

import weft

FIXTURES = Path(__file__).resolve().parents[3] / "tests" / "fixtures"


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture(scope="session", params=["gmlp-causal-lm", "tnn-causal-lm"])
def language_model(request) -> weft.Model:
    return weft.load(FIXTURES / request.param)


@pytest.fixture(scope="session")
def classifier() -> weft.Model:
    return weft.load(FIXTURES / "fnet-classifier")
