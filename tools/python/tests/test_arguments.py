"""Errors for arguments of a wrong type: one sentence that names the argument."""

import copy
import os
import pickle
import sys
import types
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import pytest

import weft
from weft import nn, ops, optim
from weft._arguments import checked

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: nn.Linear("a", 2), "inputs: expected an integer, got 'a'"),
    (lambda: nn.Linear(2, 2.5), "outputs: expected an integer, got 2.5"),
    (lambda: nn.Linear(2, 2, bias=None), "bias: expected True or False, got None"),
    (lambda: nn.Linear(2, 2, dtype=np.float32), "dtype: expected a str, got <class 'numpy.float32'>"),
    (lambda: nn.LayerNorm(4, eps="small"), "eps: expected a number, got 'small'"),
    (lambda: nn.Embedding(None, 4), "count: expected an integer, got None"),
    (lambda: nn.GmlpBlock(4, 8, length="long"), "length: expected an integer, got 'long'"),
    (lambda: nn.FnetLayer(4, 8, norm=1), "norm: expected a str, got 1"),
    (lambda: nn.TnnLayer("a"), "d: expected an integer, got 'a'"),
    (lambda: nn.seed("a"), "value: expected an integer, got 'a'"),
    (lambda: optim.AdamW(3), "parameters: expected a module, or a list of weft.Parameter, got 3"),
    (lambda: optim.Optimizer(nn.Linear(2, 2), 3), "name: expected a str, got 3"),
    (lambda: optim.SGD(nn.Linear(2, 2), momentum=None), "momentum: expected a number, got None"),
    (lambda: optim.SGD(nn.Linear(2, 2), clip=None), "clip: expected a number, got None"),
    (lambda: optim.schedule("cosine", peak="high"), "peak: expected a number, got 'high'"),
    (lambda: optim.Optimizer(nn.Linear(2, 2), weight_decay="no"),
     "weight_decay: expected a number or None, got 'no'"),
    (lambda: weft.load(5), "folder: expected a str or a path, got 5"),
    (lambda: nn.Module().save(None), "path: expected a str or a path, got None"),
    (lambda: nn.Module().load_state([1]), r"state: expected a dict, got \[1\]"),
    (lambda: weft.train([], steps="many"), "steps: expected an integer or None, got 'many'"),
    (lambda: weft.train([], validation=None), "validation: expected a number or a tuple or a list, got None"),
    (lambda: weft.train([], callback=3), "callback: expected a function or None, got 3"),
    (lambda: weft.train([], config=3), "config: expected a dict or None, got 3"),
    (lambda: weft.set_threads("all"), "count: expected an integer, got 'all'"),
    (lambda: nn.Linear(2), r"Linear.__init__\(\) missing 1 required positional argument: 'outputs'"),
])
def test_arguments_of_python_functions(call, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        call()


@pytest.mark.parametrize(("call", "message"), [
    (lambda m: m.classify("5 plus", top="all"), "top: expected an integer or None, got 'all'"),
    (lambda m: m.predict("5 plus", threshold="high"), "threshold: expected a number, got 'high'"),
    (lambda m: m.embed("5 plus", pooling=3), "pooling: expected a str, got 3"),
    (lambda m: m.save(3), "folder: expected a str or a path, got 3"),
    (lambda m: m.generate(3), "prompt: expected a str, got 3"),
    (lambda m: m.generate("5", stop=3), "stop: expected a list, got 3"),
    (lambda m: m.generate("5", stop=[3]), r"generation: expected the arguments \(self, prompt: str, .*, list, bool\)"),
])
def test_arguments_of_models(call, message, classifier):
    with pytest.raises(TypeError, match=f"^{message}$"):
        call(classifier)


def test_annotations_are_resolved_at_the_definition():
    @checked
    def several(a: "Optional[int]", b: "Union[str, os.PathLike[str], None]" = None, c: "Any" = None, *d, **e: "bool"):
        return a

    assert several(3, "b", object(), 4, e=True) == 3 and several(None, Path("b")) is None
    for call, message in ((lambda: several("3"), "a: expected an integer or None, got '3'"),
                          (lambda: several(3, 4), "b: expected a str or a path or None, got 4"),
                          (lambda: several(3, f=4), "f: expected True or False, got 4")):
        with pytest.raises(TypeError, match=f"^{message}$"):
            call()

    def unknown(a: "Optional[complex]"):
        pass

    with pytest.raises(TypeError, match="types that can be checked, got <class 'complex'>"):
        checked(unknown)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the operator | of types is new in Python 3.10")
def test_unions_written_with_an_operator():
    @checked
    def several(a: "int | None"):
        return a

    assert several(None) is None
    with pytest.raises(TypeError, match="^a: expected an integer or None, got 'a'$"):
        several("a")


def test_all_public_functions_are_checked():
    def unchecked(scope, names):
        for name in names:
            member = vars(scope)[name]
            if isinstance(member, types.FunctionType) and not hasattr(member, "__wrapped__"):
                annotations = {key: kind for key, kind in member.__annotations__.items() if key != "return"}
                yield from (f"{name}: {key}" for key, kind in annotations.items()
                            if "Any" not in kind and kind not in ("ArrayLike", "Union[str, Rows]"))

    assert not list(unchecked(weft, weft.__all__)) and not list(unchecked(optim, optim.__all__))
    assert not list(unchecked(nn, nn.__all__))
    for kind in (weft.Model, weft.Stream, nn.Module):
        assert not list(unchecked(kind, [name for name in vars(kind) if not name.startswith("_")])), kind


@pytest.mark.parametrize(("call", "message"), [
    (lambda: nn.Linear(3, 2)(), r"__call__: expected the arguments \(self, x: object\), got \(weft.nn.Linear\)"),
    (lambda: weft.Tape().backward(weft.tensor(X), nn.Linear(2, 2)),
     r"backward: expected the arguments \(self, result: weft.Tensor, optimizer: weft.optim.Optimizer\), "
     r"got \(weft.Tape, weft.Tensor, weft.nn.Linear\)"),
    (lambda: optim.SGD(nn.Linear(2, 2)).step("fast"), r"step: expected .*, got \(weft.optim.SGD, str\)"),
    (lambda: ops.softmax(X, axis="last"), r"softmax: expected .*, got \(.*ndarray, kwargs = { axis: str }\)"),
    (lambda: weft.tensor(X).reshape("flat"), r"reshape: expected .*, got \(weft.Tensor, tuple\)"),
    (lambda: weft.Random(1).uniform("a"), r"uniform: expected .*, got \(weft.Random, str\)"),
    (lambda: weft.tensor(X).sum(axis="rows"), "axis: expected None, an integer, or a tuple of at least one integer"),
])
def test_arguments_of_compiled_functions(call, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        call()


def test_numbers_may_be_those_of_numpy():
    assert nn.Linear(np.int64(3), np.int32(2))(X).shape == (2, 2)
    nn.TnnLayer(np.int64(4), gamma=np.float32(0.5))
    assert nn.LayerNorm(3, np.float32(1e-3))(X).shape == (2, 3)
    nn.seed(np.int64(3))
    first = nn.Linear(2, 2).weight.numpy()
    nn.seed(3)
    np.testing.assert_array_equal(nn.Linear(2, 2).weight.numpy(), first)
    nn.seed(1)


def test_operations_can_be_attributes_of_modules_that_are_copied():
    module = nn.Module()
    module.activation = ops.gelu
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        np.testing.assert_array_equal(twin.activation(X).numpy(), ops.gelu(X).numpy())


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_optimizers_say_why_they_cannot_be_copied(copied):
    with pytest.raises(TypeError, match="AdamW: optimizers can't be pickled or copied; pickle or copy the model"):
        copied(optim.AdamW(nn.Linear(2, 2)))
