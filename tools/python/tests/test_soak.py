"""Many calls, with errors in between: no memory is lost. Processes that fork or spawn use models, too."""

import gc
import multiprocessing
import os
import pickle

import numpy as np
import pytest

import weft
from weft import nn, ops, optim

ROUNDS = int(os.environ.get("WEFT_SOAK_ROUNDS", "300"))  # of about 30 calls each


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def one_round(model, block, optimizer):
    x = np.ones((2, 5, 8), np.float32)
    with weft.Tape() as tape:
        tape.backward(block(x).square().mean(), optimizer)
    optimizer.step()
    with weft.Tape() as tape:
        watched = tape.watch(x)
        gradients = tape.gradients((watched[:, ::-1] * 2 + x).sum())
    np.asarray(gradients[watched])
    model.classify(["2 plus 2 is"], top=2)
    pickle.loads(pickle.dumps(model)).probabilities(["3"])
    for wrong in (lambda: ops.matmul(x, np.ones((3, 3), np.float32)), lambda: weft.tensor(x)[7], lambda: model.embed(3),
                  lambda: block(x[0]), lambda: weft.tensor(np.array(["a"])), lambda: tape.gradients(watched)):
        with pytest.raises((weft.Error, TypeError, IndexError)):
            wrong()
    for name in ("exp", "sin", "relu", "sum", "argmax"):
        getattr(weft.tensor(x), name)(**({"axis": 1} if name in ("sum", "argmax") else {}))


def test_no_memory_is_lost(classifier):
    block = nn.GmlpBlock(8, 16, 5)
    optimizer = optim.AdamW(block)
    for _ in range(20):
        one_round(classifier, block, optimizer)
    gc.collect()
    before = resident_bytes()
    for _ in range(ROUNDS):
        one_round(classifier, block, optimizer)
    gc.collect()
    assert resident_bytes() - before < 4e6


def use_model(model):
    block = nn.Linear(3, 2)
    with weft.Tape() as tape:
        tape.backward(block(np.ones((4, 3), np.float32)).sum(), optim.SGD(block))
    return model.probabilities(["2 plus 2 is"] * 40)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(classifier, method):
    want = use_model(classifier)  # so that this process has threads before it forks
    with multiprocessing.get_context(method).Pool(2) as pool:
        for got in pool.map(use_model, [classifier] * 4):
            np.testing.assert_array_equal(got, want)
