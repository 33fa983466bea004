"""Tensors, operations, gradients, layers and optimizers, compared with numpy and, if it is installed, with PyTorch."""

import copy
import gc
import pickle
import re
import threading

import numpy as np
import pytest

import weft
from weft import _weft, nn, ops, optim

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


def test_making_tensors():
    assert weft.tensor([[1, 2], [3, 4]]).dtype == "i64" and weft.tensor([1.5]).dtype == "f32"
    assert weft.tensor(np.float64([1.5])).dtype == "f64" and weft.tensor(np.int32([1])).dtype == "i64"
    assert weft.tensor(2.5).shape == () and weft.tensor(2.5).item() == 2.5
    assert weft.tensor([1, 0], "bf16").dtype == "bf16"
    source = X.copy()
    copied = weft.tensor(source)
    source[:] = 0
    np.testing.assert_array_equal(copied.numpy(), X)
    assert repr(weft.tensor([1.0, 2.0])) == "weft.Tensor([1, 2] f32 (2,))"
    np.testing.assert_array_equal(np.asarray(weft.tensor(X[:, ::-1])), X[:, ::-1])
    with pytest.raises(ValueError, match="read-only"):
        weft.tensor(X).numpy()[0, 0] = 1


def test_lists_keep_their_precision():
    assert weft.tensor([0.1], dtype="f64").item() == 0.1 and weft.tensor([1e300], "f64").item() == 1e300
    assert weft.tensor([2**53 + 1]).item() == 2**53 + 1
    assert [weft.tensor([1, 2], dtype).dtype for dtype in ("i8", "c64", "f64")] == ["i8", "c64", "f64"]
    with pytest.raises(OverflowError):
        weft.tensor(np.array([2**64 - 1], np.uint64))
    with pytest.raises(TypeError, match="expected numbers"):
        weft.tensor(["a"])
    with pytest.raises(OverflowError):
        weft.tensor(X) + 10**400


def test_copies():
    z = weft.tensor(X)
    a, b = weft.Parameter(z), weft.Parameter(z)
    before, tensor = np.array(a), weft.tensor(a)
    a.assign(Y)
    for kept in (z, b, before, tensor):
        np.testing.assert_array_equal(np.asarray(kept), X)


def test_truth_values():
    assert weft.tensor([1.0]) < weft.tensor([2.0]) and not weft.tensor(0.0) and not weft.tensor([1.0]) > 2
    with pytest.raises(TypeError, match=r"shape \(3, 4\) has no truth value"):
        bool(weft.tensor(X))


def test_tensors_as_indices():
    x = weft.tensor(X)
    np.testing.assert_array_equal(x[weft.tensor([2, 0])].numpy(), X[[2, 0]])
    np.testing.assert_array_equal(x[x > 0.5].numpy(), X[X > 0.5])
    np.testing.assert_array_equal(x[x[:, 0] > 0].numpy(), X[X[:, 0] > 0])
    w = weft.Parameter(X)
    with weft.Tape() as tape:
        gradients = tape.gradients(w[[0, 0, 2]].sum())
    np.testing.assert_array_equal(gradients[w].numpy(), [[2] * 4, [0] * 4, [1] * 4])


def test_numbers_of_tensors():
    x = weft.tensor(X)
    assert f"{x.mean():.2f}" == f"{X.mean():.2f}" and f"{x}" == str(x) and int(weft.tensor([3.7])) == 3
    np.testing.assert_array_equal(abs(x).numpy(), abs(X))
    np.testing.assert_array_equal(x.T.numpy(), X.T)
    assert x[0].tolist() == X[0].tolist() and weft.tensor([[1, 2]]).tolist() == [[1, 2]]
    for name in ("max", "min", "argmax", "argmin"):
        assert getattr(x, name)().item() == getattr(X, name)()
    assert x.max(keepdims=True).shape == (1, 1) and weft.tensor(2.0).max().item() == 2
    assert (x > 0).mean().item() == (X > 0).mean() and (x > 0).sum().item() == (X > 0).sum()
    np.testing.assert_array_equal((x > 0).sum(axis=0).numpy(), (X > 0).sum(0))


def test_dtypes_of_results():
    x = weft.tensor(X)
    assert (x * X.astype(np.float64)).dtype == "f64" and (X.astype(np.float64) - x).dtype == "f64"
    assert (x @ X.T.astype(np.float64)).dtype == "f64" and (X.astype(np.float64) @ x.T).dtype == "f64"
    assert (2.0 ** x).dtype == "f32" and (np.float64(X) ** abs(x)).dtype == "f64"
    np.testing.assert_allclose((X @ x.T).numpy(), X @ X.T, rtol=1e-5)
    assert optim.SGD(nn.Linear(2, 2), lr=np.float32(0.5)).lr == 0.5
    assert (weft.tensor([1, 2, 3, 4]) * x).dtype == "f32" and (weft.tensor([1.0], "bf16") + x).dtype == "f32"
    assert ops.where(x > 0, x, np.zeros(4)).dtype == "f64" and (x < np.zeros(4)).dtype == "i8"
    assert ops.sum([1.0, 2.0]).item() == 3 and ops.embedding(np.int32([1]), X).shape == (1, 4)
    for dtype in ("float32", np.float32, np.dtype("float32"), "f32"):
        assert weft.tensor([1], dtype).dtype == "f32" and ops.cast(weft.tensor([1]), dtype).dtype == "f32"
    with pytest.raises(ValueError, match="dtype: expected f32, .* got q"):
        weft.tensor([1], "q")


def test_equal_elements():
    x, w = weft.tensor([1.0, 2.0]), weft.Parameter(np.float32([1, 3]))
    np.testing.assert_array_equal((x == w).numpy(), [1, 0])
    np.testing.assert_array_equal((x != 2).numpy(), [1, 0])
    np.testing.assert_array_equal((w == np.float32([3, 3])).numpy(), [0, 1])
    assert not x == None and x != "a"  # noqa: E711
    assert len({x, x, w}) == 2 and {w: 1}[w] == 1  # hashed by identity


def test_numpy_arrays_outlive_their_tensors():
    array = weft.tensor(X).numpy()
    gc.collect()
    np.testing.assert_array_equal(array, X)


@pytest.mark.parametrize("index", [
    0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(None, None, 2), slice(2, 0, -1), slice(5, 9), (0, 1),
    (slice(None), 2), (Ellipsis, -1), (None, 1), (Ellipsis, None), (slice(None), None, slice(1, 2)), (), Ellipsis,
    (np.int64(1), slice(3, None, -2)), [2, 0, -1], [], np.array([1, 1]), np.int32([2]), np.uint8([2, 0]), [True, False, True],
    (slice(None, 2), [3, 0]), (slice(None), np.array([True, False, False, True])), ([1, 2], slice(1, 3)), X > 0,
], ids=str)
def test_indices(index):
    np.testing.assert_array_equal(weft.tensor(X)[index].numpy(), X[index])


@pytest.mark.parametrize(("index", "error"), [
    (3, IndexError), (-4, IndexError), ((0, 0, 0), IndexError), ((Ellipsis, Ellipsis), IndexError), (1.5, TypeError),
    ("a", TypeError), (True, TypeError), ([0, 3], IndexError), ([-4], IndexError), ([True], IndexError),
    ([[0]], TypeError), ([0.5], TypeError), (np.uint64([2**63]), IndexError), (np.ones((4, 3), bool), IndexError),
    ((slice(None), np.ones((2, 2), bool)), IndexError),
], ids=str)
def test_wrong_indices(index, error):
    with pytest.raises(error):
        weft.tensor(X)[index]


def test_length_and_iteration():
    assert len(weft.tensor(X)) == 3 and [row.shape for row in weft.tensor(X)] == [(4,)] * 3
    with pytest.raises(TypeError, match="no length"):
        len(weft.tensor(1.0))


def test_operators():
    a, b = weft.tensor(X), weft.tensor(Y)
    for got, want in [(a + b, X + Y), (a - b, X - Y), (a * b, X * Y), (a / b, X / Y), (-a, -X), (a + 2, X + 2),
                      (2 - a, 2 - X), (a - 2, X - 2), (3 * a, 3 * X), (a / 2, X / 2), (1 / a, 1 / X), (a ** 2, X ** 2),
                      (a @ b[0], X @ Y[0]), (a + Y, X + Y), (Y + a, X + Y), (Y - a, Y - X), (Y / a, Y / X),
                      (np.float32(2) * a, 2 * X), (a * np.float64(2), 2 * X), (a[0] + b, X[0] + Y)]:
        assert isinstance(got, weft.Tensor)
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-6)
    for got, want in [(a < b, X < Y), (a <= b, X <= Y), (a > 0, X > 0), (a >= 0, X >= 0), (ops.equal(a, a), X == X),
                      (ops.not_equal(a, 0), X != 0)]:
        np.testing.assert_array_equal(got.numpy().astype(bool), want)
    np.testing.assert_array_equal(ops.where(a > 0, a, 0).numpy(), np.where(X > 0, X, 0))
    np.testing.assert_allclose((Y @ a[0]).numpy(), Y @ X[0], rtol=1e-5)
    np.testing.assert_allclose((2 ** a).numpy(), 2 ** X, rtol=1e-5)
    with pytest.raises(TypeError, match="axis: expected"):
        a.sum(axis=())
    with pytest.raises(ValueError, match="whole number"):
        ops.equal(weft.tensor([1, 2]), 1.5)
    for wrong in ("text", None, [1, 2]):
        with pytest.raises(TypeError):
            a + wrong
    assert (a + np.float64(Y)).dtype == "f64"
    with pytest.raises(weft.Error):
        a + Y[:, :3]


@pytest.mark.parametrize("name", ["abs", "cos", "exp", "expm1", "sign", "sin", "square", "tanh"])
def test_functions_of_numpy(name):
    np.testing.assert_allclose(getattr(ops, name)(X).numpy(), getattr(np, name)(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(getattr(weft.tensor(X), name)().numpy(), getattr(np, name)(X), rtol=1e-5, atol=1e-6)


def test_reductions_and_shapes():
    a = weft.tensor(X)
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            np.testing.assert_allclose(a.sum(axis=axis, keepdims=keepdims).numpy(), X.sum(axis=axis, keepdims=keepdims),
                                       rtol=1e-5)
            means = X.mean(axis=axis, keepdims=keepdims)
            np.testing.assert_allclose(ops.mean(a, axis, keepdims).numpy(), means, rtol=1e-5)
    np.testing.assert_array_equal(a.max(1).numpy(), X.max(1))
    for got in (a.reshape(2, 6), a.reshape((2, 6)), ops.reshape(a, [2, 6])):
        np.testing.assert_array_equal(got.numpy(), X.reshape(2, 6))
    np.testing.assert_array_equal(a.permute(1, 0).numpy(), X.T)
    np.testing.assert_array_equal(a.transpose(0, 1).numpy(), X.T)
    np.testing.assert_array_equal(ops.concat([a, Y], axis=1).numpy(), np.concatenate([X, Y], 1))
    assert [part.shape for part in a.chunk(2, axis=1)] == [(3, 2), (3, 2)]
    assert a[None].expand(5, 3, 4).shape == (5, 3, 4)
    np.testing.assert_allclose(ops.einsum("ij,kj->ik", a, Y).numpy(), X @ Y.T, rtol=1e-5)
    np.testing.assert_allclose(ops.softmax(a).sum(-1).numpy(), 1, rtol=1e-6)
    assert a.cast("f64").dtype == "f64"
    with pytest.raises(ValueError, match="dtype: expected f32"):
        a.cast("float16")


def test_indices_and_scans():
    a, i = weft.tensor(X), np.array([[0, 3], [1, 1], [2, 0]])
    np.testing.assert_array_equal(a.gather(1, i).numpy(), np.take_along_axis(X, i, 1))
    np.testing.assert_array_equal(a.index_select(0, np.array([2, 0])).numpy(), X[[2, 0]])
    np.testing.assert_array_equal(ops.scatter_add(np.zeros((3, 4), np.float32), 1, i, X[:, :2])[0].numpy(),
                                  [X[0, 0], 0, 0, X[0, 1]])
    for name in ("argmax", "argmin", "max", "min"):
        np.testing.assert_array_equal(getattr(a, name)(axis=1).numpy(), getattr(X, name)(axis=1))
    for name in ("cumsum", "cumprod"):
        np.testing.assert_allclose(getattr(a, name)(0).numpy(), getattr(X, name)(0), rtol=1e-5)
    values, indices = a.topk(2)
    np.testing.assert_array_equal(values.numpy(), -np.sort(-X)[:, :2])
    np.testing.assert_array_equal(indices.numpy(), np.argsort(-X)[:, :2])
    np.testing.assert_allclose(a.var(axis=1).numpy(), X.var(axis=1, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(a.norm().item(), np.linalg.norm(X), rtol=1e-6)
    np.testing.assert_allclose(a.logsumexp(1).numpy(), np.log(np.exp(X).sum(1)), rtol=1e-5)


def test_arrangements():
    a = weft.tensor(X)
    np.testing.assert_array_equal(a.roll(1, axis=1).numpy(), np.roll(X, 1, axis=1))
    np.testing.assert_array_equal(a.pad([(1, 0), (0, 2)], 5).numpy(), np.pad(X, [(1, 0), (0, 2)], constant_values=5))
    np.testing.assert_array_equal(a.tril().numpy(), np.tril(X))
    np.testing.assert_array_equal(a.triu(1).numpy(), np.triu(X, 1))
    np.testing.assert_array_equal(ops.stack([a, Y], axis=-1).numpy(), np.stack([X, Y], axis=-1))
    assert a.unsqueeze(1).shape == (3, 1, 4) and a.unsqueeze(0).squeeze(0).shape == (3, 4)
    assert [part.shape for part in a.split([1, 3], axis=1)] == [(3, 1), (3, 3)]
    np.testing.assert_array_equal(ops.arange(0, 5, 2).numpy(), [0, 2, 4])
    np.testing.assert_array_equal(ops.one_hot(np.array([1, 0]), 3).numpy(), np.eye(3)[[1, 0]])


def test_adafactor_beside_pytorch():
    torch = pytest.importorskip("torch")
    if not hasattr(torch.optim, "Adafactor"):
        pytest.skip("this PyTorch has no Adafactor")
    ours, theirs = weft.Parameter(X), torch.tensor(X, requires_grad=True)
    a = optim.Adafactor([("w", ours)], lr=0.05, weight_decay=0.1, clip=0)
    b = torch.optim.Adafactor([theirs], lr=0.05, weight_decay=0.1)
    for _ in range(5):
        with weft.Tape() as tape:
            tape.backward((ours * Y).sin().sum(), a)
        a.step()
        b.zero_grad()
        (theirs * torch.tensor(Y)).sin().sum().backward()
        b.step()
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_convolutions_beside_pytorch():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(4).normal(size=(2, 6, 11)).astype(np.float32)
    for shape, options in [((4, 6, 3), {}), ((6, 1, 3), {"groups": 6, "padding": 2}),
                           ((4, 3, 2), {"groups": 2, "stride": 2}),
                           ((4, 6, 3), {"dilation": 3})]:
        w = np.random.default_rng(5).normal(size=shape).astype(np.float32)
        want = torch.nn.functional.conv1d(torch.tensor(x), torch.tensor(w), **options).numpy()
        np.testing.assert_allclose(ops.conv1d(x, w, **options).numpy(), want, atol=1e-4)
    maxima = torch.nn.functional.max_pool1d(torch.tensor(x), 3, 2)
    np.testing.assert_allclose(ops.max_pool1d(x, 3, 2).numpy(), maxima.numpy())
    means = torch.nn.functional.avg_pool1d(torch.tensor(x), 4)
    np.testing.assert_allclose(ops.mean_pool1d(x, 4).numpy(), means.numpy(),
                               atol=1e-6)


def test_all_operations_are_there():
    # ops.py lists the functions of the C++ module that return tensors, and the methods, by name.
    returning_tensors = re.compile(r"(\w+)\((.*)\) -> (?:list\[|tuple\[)?weft\.Tensor")
    compiled = [returning_tensors.match(getattr(_weft, name).__doc__ or "") for name in dir(_weft)]
    found = {match[1].removeprefix("tensor_"): match[2] for match in compiled if match}
    assert len(found) > 90 and found.keys() == set(ops.__all__)
    assert all(hasattr(weft.Tensor, name) for name, parameters in found.items() if parameters == "x: object")
    x, t = np.ones((1, 1, 4, 2), np.float32), np.ones((1, 7, 2), np.float32)
    np.testing.assert_array_equal(ops.toeplitz_product(x, t).numpy(), weft.toeplitz_product(x, t))
    np.testing.assert_array_equal(ops.fourier_mix(X).numpy(), weft.fourier_mix(X))


def test_gradients():
    w = weft.Parameter(X)
    with weft.Tape() as tape:
        x = tape.watch(Y)
        loss = (w * x + 1).square().sum()
        gradients = tape.gradients(loss)
    np.testing.assert_allclose(gradients[w].numpy(), 2 * (X * Y + 1) * Y, rtol=1e-5)
    np.testing.assert_allclose(gradients[x].numpy(), 2 * (X * Y + 1) * X, rtol=1e-5)
    assert w.trainable and w.shape == (3, 4) and "Parameter" in repr(w)
    with weft.Tape() as tape:
        part = tape.gradients(w[1, ::-1].sum())
    np.testing.assert_array_equal(part[w].numpy(), [[0] * 4, [1] * 4, [0] * 4])


def test_misused_tapes():
    w, tape = weft.Parameter(X), weft.Tape()
    with pytest.raises(weft.Error, match="inside the with statement of its tape"):
        tape.watch(X)
    with tape:
        loss = w.sum()
        with pytest.raises(weft.Error):
            tape.gradients(w * 1)  # not one element
        with pytest.raises(weft.Error, match="entered before"):
            tape.__enter__()
    with pytest.raises(weft.Error, match="inside the with statement of its tape"):
        tape.gradients(loss)
    with weft.Tape() as other:
        with pytest.raises(weft.Error):
            other.gradients(loss)
    with pytest.raises(LookupError), weft.Tape():
        raise LookupError
    with weft.Tape() as tape:  # works after all of this
        assert tape.gradients(w.sum())[w].shape == (3, 4)


def test_tapes_of_other_threads():
    tape, errors = weft.Tape().__enter__(), []

    def use():
        for call in (lambda: tape.watch(X), lambda: tape.__exit__(None, None, None)):
            try:
                call()
            except weft.Error as error:
                errors.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(errors) == 2 and all("thread" in error for error in errors)
    tape.__exit__(None, None, None)

    kept = []
    thread = threading.Thread(target=lambda: kept.append(weft.Tape().__enter__()))
    thread.start()
    thread.join()
    kept.clear()  # destroyed by another thread than the one that entered it
    gc.collect()
    w = weft.Parameter(X)
    with weft.Tape() as tape:
        assert tape.gradients(w.sum())[w].shape == (3, 4)


class Small(nn.Module):
    def __init__(self, vocabulary=7, d=8, length=6):
        nn.seed(5)
        self.embedding = nn.Embedding(vocabulary, d)
        self.blocks = [nn.GmlpBlock(d, 2 * d, length), nn.TnnLayer(d, causal=True, rpe_dim=8),
                       nn.GmlpBlock(d, 2 * d, length)]
        self.parts = {"fourier": nn.FnetLayer(d, 2 * d)}
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocabulary, bias=False)
        self.shift = weft.Parameter(np.zeros(vocabulary, np.float32))
        self.d = d

    def __call__(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, causal=True) if isinstance(block, nn.GmlpBlock) else block(x)
        return self.head(self.norm(self.parts["fourier"](x))) + self.shift


TOKENS = np.random.default_rng(2).integers(0, 7, (5, 6))


@pytest.mark.parametrize("make", [optim.AdamW, optim.Adam, optim.SGD, optim.Lion, optim.Muon, optim.Adafactor])
def test_a_model_learns(make):
    model = Small()
    rate = {optim.SGD: 0.05, optim.Adafactor: 0.03}.get(make, 3e-3)
    optimizer = make(model, lr=rate)
    losses = []
    for _ in range(150):
        with weft.Tape() as tape:
            loss = ops.cross_entropy(model(TOKENS), TOKENS)
            tape.backward(loss, optimizer)
        losses.append(loss.item())
        assert optimizer.step() > 0
    assert losses[-1] < 0.7 * losses[0] and optimizer.steps == 150
    assert optimizer.lr == rate


def test_parameters_of_an_optimizer():
    layer = nn.Linear(2, 3)
    assert layer.weight.shape == (3, 2) and layer.bias.shape == (3,) and nn.Linear(2, 2, bias=False).bias is None
    assert nn.LayerNorm(4).weight.shape == (4,) and nn.Embedding(5, 4).weight.shape == (5, 4)
    before = layer.weight.numpy().copy()
    optimizer = optim.SGD([layer.weight], lr=1.0)
    with weft.Tape() as tape:
        tape.backward(layer(np.ones((1, 2), np.float32)).sum(), optimizer)
    optimizer.step()
    assert (layer.weight.numpy() != before).all()
    assert optim.SGD(weft.Parameter(X)).steps == 0
    for wrong in (lambda: optim.AdamW([1]), lambda: optim.AdamW([("a", 1)])):
        with pytest.raises(TypeError, match="expected a module, or a list of weft.Parameter, got 1"):
            wrong()
    with pytest.raises(TypeError, match=r"betas: expected a number, got \(0.9, 0.99\)"):
        optim.AdamW(layer, betas=(0.9, 0.99))
    with pytest.raises(TypeError, match="lr: expected a number, got 'fast'"):
        optim.AdamW(layer, lr="fast")


def test_sequences_of_layers():
    for layer in (nn.FnetLayer(8, 16), nn.TnnLayer(8), nn.GmlpBlock(8, 16, 4)):
        with pytest.raises(weft.Error, match=r"expected a sequence \(b, n, d\), got \(4, 8\)"):
            layer(np.zeros((4, 8), np.float32))
    with pytest.raises(weft.Error, match="at most 4 tokens, got 5"):
        nn.GmlpBlock(8, 16, 4)(np.zeros((1, 5, 8), np.float32))
    mask = np.zeros((1, 4, 1), np.float32)
    mask[0, 0] = 1
    block, x = nn.GmlpBlock(8, 16, 4), np.random.default_rng(0).normal(size=(2, 4, 8)).astype(np.float32)
    other = x.copy()
    other[:, 2, 0] += 1
    np.testing.assert_array_equal(block(x, mask=mask)[:, :2].numpy(), block(other, mask=mask)[:, :2].numpy())
    assert (block(x)[:, :2].numpy() != block(other)[:, :2].numpy()).any()


def test_options_of_operations():
    x = np.random.default_rng(4).normal(size=(2, 3, 7)).astype(np.float32)
    w = np.ones((2, 3, 3), np.float32)
    causal = ops.conv1d(x, w, causal=True).numpy()
    padded = ops.conv1d(np.pad(x, ((0, 0), (0, 0), (2, 0))), w).numpy()
    np.testing.assert_allclose(causal, padded, rtol=1e-5)
    np.testing.assert_allclose(ops.conv1d(x, w, np.float32([1, 2])).numpy() - ops.conv1d(x, w).numpy(),
                               np.broadcast_to([[1], [2]], (2, 2, 5)), atol=1e-5)
    np.testing.assert_allclose(weft.tensor(X).var().item(), X.var(ddof=1), rtol=1e-5)
    np.testing.assert_allclose(ops.var(X, axis=0, correction=0).numpy(), X.var(0), rtol=1e-5)
    np.testing.assert_allclose(ops.mse_loss(X, Y, "sum").item(), ((X - Y) ** 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(ops.mse_loss(X, Y).item(), ((X - Y) ** 2).mean(), rtol=1e-5)
    np.testing.assert_allclose(ops.linear(X, np.eye(4, dtype=np.float32), Y[0]).numpy(), X + Y[0], rtol=1e-5)
    assert ops.mse_loss.__doc__ and all(getattr(ops, name).__doc__ for name in ops.__all__)


def test_usual_learning_rates():
    layer = nn.Linear(2, 2)
    rates = {make.__name__: make(layer).lr for make in (optim.AdamW, optim.SGD, optim.Lion, optim.Adafactor)}
    assert rates == {"AdamW": 1e-3, "SGD": 1e-2, "Lion": 1e-4, "Adafactor": 1e-2}
    with pytest.raises(weft.Error, match="momentum"):
        optim.AdamW(layer, momentum=0.9)


def test_modules_that_know_their_parent():
    parent, child = nn.Module(), nn.Module()
    parent.child, child.parent, child.layer = child, parent, nn.Linear(2, 2)
    parent.layers = [child, parent]
    assert [name for name, _ in parent.named_parameters()] == ["child.layer.weight", "child.layer.bias"]


def test_parameters_and_state(tmp_path):
    model = Small()
    names = [name for name, _ in model.named_parameters()]
    assert {"embedding.weight", "blocks.0.proj1.weight", "blocks.0.sgu.weight", "parts.fourier.proj1.bias", "shift",
            "head.weight"} <= set(names) and "head.bias" not in names and len(set(names)) == len(names)
    other = Small()
    np.testing.assert_array_equal(other(TOKENS).numpy(), model(TOKENS).numpy())  # the same seed
    optimizer = optim.SGD(other, momentum=0.5)
    with weft.Tape() as tape:
        tape.backward(ops.cross_entropy(other(TOKENS), TOKENS), optimizer)
    optimizer.step(0.1)
    assert (other(TOKENS).numpy() != model(TOKENS).numpy()).any()
    other.save(tmp_path / "model.safetensors")
    model.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(other(TOKENS).numpy(), model(TOKENS).numpy())
    state, wanted = model.state(), model.state()
    state["embedding.weight"] = state["embedding.weight"] + 1
    state["shift"] = state["shift"].astype(np.float64)
    with pytest.raises(weft.Error, match="shift: expected dtype f32, got f64"):
        model.load_state(state)
    np.testing.assert_array_equal(model.state()["embedding.weight"], wanted["embedding.weight"])
    state["shift"] = np.zeros(3, np.float32)
    with pytest.raises(weft.Error, match=r"shift: expected shape \(7,\), got \(3,\)"):
        model.load_state(state)
    del state["shift"]
    with pytest.raises(weft.Error, match=r"missing: \['shift'\], unknown: \[\]"):
        model.load_state(state)


class Mixed(nn.Module):
    def __init__(self):
        self.embedding = nn.Embedding(5, 8)
        self.blocks = [nn.GmlpBlock(8, 16, 6), nn.FnetLayer(8, 16, norm="pre"), nn.TnnLayer(8, causal=True, gamma=0.9)]
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 3, bias=False)
        self.scale = weft.Parameter(np.float32([2.0]))

    def __call__(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) * self.scale


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_modules_are_copied(copied):
    model, tokens = Mixed(), np.int64([[1, 2, 3, 0, 4, 2]])
    model.head.weight.trainable = False
    model.name = "mixed"
    model.head.note = "kept"
    nn.seed(3)
    twin = copied(model)
    expected_next = nn.Linear(2, 2).weight.numpy().copy()
    nn.seed(3)
    np.testing.assert_array_equal(nn.Linear(2, 2).weight.numpy(), expected_next)
    np.testing.assert_array_equal(twin(tokens).numpy(), model(tokens).numpy())
    assert twin.name == "mixed" and twin.head.note == "kept" and not twin.head.weight.trainable
    assert twin.norm.weight.trainable and repr(twin).startswith("<Mixed, ")
    optimizer = optim.SGD(twin)
    with weft.Tape() as tape:
        tape.backward(ops.sum(ops.square(twin(tokens))), optimizer)
    optimizer.step()
    assert (twin(tokens).numpy() != model(tokens).numpy()).any()
    np.testing.assert_array_equal(twin.head.weight.numpy(), model.head.weight.numpy())


class Counted(nn.Linear):
    made = 0

    def __init__(self, size):
        super().__init__(size, 2 * size, bias=False)
        Counted.made += 1
        self.size = size


def test_derived_layers_are_copied():
    layer = Counted(3)
    twin = copy.copy(layer)
    assert Counted.made == 1 and twin.size == 3 and twin.bias is None
    np.testing.assert_array_equal(twin.weight.numpy(), layer.weight.numpy())
    twin.weight.assign(np.zeros((6, 3), np.float32))
    assert layer.weight.numpy().any()


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "i64", "i8", "c64"])
def test_tensors_are_copied(dtype):
    x = weft.tensor([[1.0, -2.0], [3.0, 0.5]] if dtype[0] in "fbc" else [[1, -2], [3, 4]], dtype)
    for twin in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), pickle.loads(pickle.dumps(x.T)).T):
        assert twin.dtype == dtype and repr(twin) == repr(x)


def test_the_optimizer_of_another_model():
    model, other = nn.Linear(4, 2), nn.Linear(4, 2)
    with weft.Tape() as tape:
        other(X)  # recorded, but the result doesn't depend on it
        with pytest.raises(weft.Error, match="expected a result that depends on trainable parameters"):
            tape.backward(ops.sum(model(X)), optim.SGD(other))


def test_arrays_take_the_dtype_of_a_layer():
    x = np.random.default_rng(2).normal(size=(2, 3, 8))
    layers = [nn.Linear(8, 4), nn.LayerNorm(8), nn.GmlpBlock(8, 16, 4), nn.FnetLayer(8, 16), nn.TnnLayer(8)]
    for layer in layers:
        y = layer(x)
        assert y.dtype == "f32"
        np.testing.assert_array_equal(y.numpy(), layer(x.astype(np.float32)).numpy())
        with pytest.raises(weft.Error, match=r'dtype f32, got f64; weft.ops.cast\(x, "f32"\)'):
            layer(weft.tensor(x))
    wide = nn.Linear(8, 4, dtype="f64")
    assert wide(x.astype(np.float32)).dtype == wide(x.tolist()).dtype == "f64"


def test_steps_without_gradients():
    model = nn.Linear(4, 2)
    optimizer = optim.AdamW(model)
    with pytest.raises(weft.Error, match="expected tape.backward"):
        optimizer.step()
    with weft.Tape() as tape:
        tape.backward(ops.sum(model(X)), optimizer)
    optimizer.step()
    with pytest.raises(weft.Error, match="expected tape.backward"):
        optimizer.step()
    with pytest.raises(weft.Error, match="its options are beta1, beta2, eps; every optimizer also has lr, weight"):
        optim.AdamW(model, weight_decy=1e-3)


def test_parameters_that_are_frozen_later():
    model = nn.Linear(4, 2)
    optimizer = optim.AdamW(model, weight_decay=0.5)
    before = model.weight.numpy().copy()
    model.weight.trainable = False
    with weft.Tape() as tape:
        tape.backward(ops.sum(model(X)), optimizer)
    optimizer.step()
    np.testing.assert_array_equal(model.weight.numpy(), before)
    assert (model.bias.numpy() != 0).all()


def test_layers_keep_the_layout():
    x = np.random.default_rng(3).normal(size=(2, 6, 8)).astype(np.float32)
    block = nn.GmlpBlock(8, 16, 6)
    whole = block(x, causal=True).numpy()
    assert whole.shape == (2, 6, 8)
    np.testing.assert_allclose(block(x[:, :4], causal=True).numpy(), whole[:, :4], atol=1e-6)
    np.testing.assert_allclose(block(x[1:], causal=True).numpy(), whole[1:], atol=1e-6)
    mask = np.tril(np.ones((6, 6), np.float32))[:, :, None]
    np.testing.assert_allclose(block(x, mask=mask).numpy(), whole, atol=1e-6)
    with pytest.raises(weft.Error, match=r"expected a sequence \(b, n, d\)"):
        block(x[0])
    dropped = nn.GmlpBlock(8, 16, 6, dropout=0.5)
    assert (dropped(x, random=weft.Random(1)).numpy() != dropped(x).numpy()).any()


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: nn.GmlpBlock(8, 15, 6), weft.Error, "even"), (lambda: nn.Linear(0, 3), weft.Error, "at least 1"),
    (lambda: nn.Linear(3, 3, dtype="f16"), ValueError, "expected f32 or f64, got f16"),
    (lambda: nn.TnnLayer(8, colour=1), weft.Error, "colour"),
    (lambda: nn.FnetLayer(8, 8, norm="mid"), weft.Error, "mid"),
    (lambda: optim.Optimizer(Small(), "none"), weft.Error, "unknown optimizer"),
    (lambda: optim.AdamW(Small(), momentum=0.9), weft.Error, "momentum"),
    (lambda: optim.AdamW([]), weft.Error, "parameter"), (lambda: nn.Module()(), NotImplementedError, "no __call__"),
    (lambda: optim.schedule("steep", peak=1), weft.Error, "steep"),
    (lambda: weft.Parameter(np.array([1])), weft.Error, "i64"),
    (lambda: ops.mse_loss(X, Y, "most"), ValueError, "reduction"),
], ids=str)
def test_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_an_optimizer_goes_on_after_a_gradient_that_is_not_finite():
    w = weft.Parameter(X)
    optimizer = optim.SGD([("w", w)], lr=0.1)
    for factor, works in ((np.inf, False), (1.0, True)):
        with weft.Tape() as tape:
            tape.backward((w * factor).sum(), optimizer)
        if works:
            optimizer.step()
        else:
            with pytest.raises(weft.Error, match="not finite"):
                optimizer.step()
    assert (w.numpy() != X).all()
    with weft.Tape() as tape:
        gradients = tape.gradients(w.sum())
    with pytest.raises(TypeError, match="a leaf"):
        gradients[X]
    with pytest.raises(TypeError, match="expected a weft.Random"):
        nn.GmlpBlock(8, 16, 6)(np.zeros((1, 6, 8), np.float32), random=3)


def test_schedules():
    rate = optim.schedule("cosine", peak=1.0, warmup=10, steps=100)
    assert rate(5) == pytest.approx(0.5) and rate(10) == pytest.approx(1) and rate(100) == pytest.approx(0, abs=1e-9)


def test_gradients_beside_pytorch():
    torch = pytest.importorskip("torch")
    a, b = weft.Parameter(X), weft.Parameter(Y)
    s, t = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=True)
    for ours, theirs in [
        (lambda a, b: (a.sigmoid() * b.gelu()).mean(), lambda s, t: (s.sigmoid() * torch.nn.functional.gelu(t)).mean()),
        (lambda a, b: ops.log_softmax(a @ b.transpose(0, 1)).sum(), lambda s, t: (s @ t.T).log_softmax(-1).sum()),
        (lambda a, b: ops.huber_loss(a, b), lambda s, t: torch.nn.functional.huber_loss(s, t)),
        (lambda a, b: ops.maximum(a, b)[:, 1:].pow(2.0).sum(), lambda s, t: torch.maximum(s, t)[:, 1:].pow(2).sum()),
        (lambda a, b: (ops.layer_norm(a) * b).sum(),
         lambda s, t: (torch.nn.functional.layer_norm(s, (4,)) * t).sum()),
    ]:
        with weft.Tape() as tape:
            loss = ours(a, b)
            gradients = tape.gradients(loss)
        want = theirs(s, t)
        s.grad = t.grad = None
        want.backward()
        assert loss.item() == pytest.approx(want.item(), rel=1e-5, abs=1e-6)
        for ours_w, theirs_w in ((a, s), (b, t)):
            if theirs_w.grad is not None:
                np.testing.assert_allclose(gradients[ours_w].numpy(), theirs_w.grad.numpy(), rtol=1e-4, atol=1e-5)
