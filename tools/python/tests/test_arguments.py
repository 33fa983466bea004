"""Errors for arguments of a wrong type: one sentence that names the argument."""

import copy
import pickle

import numpy as np
import pytest

import weft
from weft import nn, ops, optim

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
    (lambda: weft.set_threads("all"), "count: expected an integer, got 'all'"),
    (lambda: nn.Linear(2), r"Linear.__init__\(\) missing 1 required positional argument: 'outputs'"),
])
def test_arguments_of_python_functions(call, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        call()


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
