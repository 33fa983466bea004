"""Toeplitz products and Fourier mixing of arrays of any kind and layout, against numpy."""

import numpy as np
import pytest

import weft

rng = np.random.default_rng(3)


def toeplitz(x, t, causal):
    n = x.shape[2]
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    lags = np.where(i >= j, i - j, 0) if causal else i - j + n - 1
    matrix = t[:, lags] * (i >= j)[None, :, :, None] if causal else t[:, lags]
    return np.einsum("hijd,bhjd->bhid", matrix, x)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 7, 64, 301])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_toeplitz_product(n, causal, dtype):
    x = rng.standard_normal((2, 3, n, 5)).astype(dtype)
    t = rng.standard_normal((3, n if causal else 2 * n - 1, 5)).astype(dtype)
    y = weft.toeplitz_product(x, t, causal)
    assert y.dtype == dtype and y.shape == x.shape
    bound = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(y, toeplitz(x, t, causal), rtol=0, atol=bound * np.sqrt(n))


@pytest.mark.parametrize("form", ["naive", "matrix", "ring"])
def test_toeplitz_forms(form):
    x, t = rng.standard_normal((1, 2, 20, 3)), rng.standard_normal((2, 39, 3))
    np.testing.assert_allclose(weft.toeplitz_product(x, t, form=form), toeplitz(x, t, False), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (6, 10), (2, 17, 24), (2, 3, 16, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fourier_mix(shape, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    y = weft.fourier_mix(x)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, np.fft.fft2(x).real, rtol=0, atol=(1e-3 if dtype == np.float32 else 1e-11))
    if len(shape) == 3:
        y = weft.fourier_mix(x, 0, 2)
        np.testing.assert_allclose(y, np.fft.fft2(x, axes=(0, 2)).real, rtol=0, atol=1e-3)


def layouts(x):
    yield "transposed", np.ascontiguousarray(x.T).T
    wide = np.full((*x.shape[:-1], x.shape[-1] * 2 + 3), np.nan, x.dtype)
    wide[..., 3::2] = x
    yield "a part of a larger one", wide[..., 3::2]
    yield "reversed", np.ascontiguousarray(x[..., ::-1, :])[..., ::-1, :]
    read_only = x.copy()
    read_only.flags.writeable = False
    yield "read only", read_only


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_gives_the_same(dtype):
    x, t = rng.standard_normal((2, 2, 33, 4)).astype(dtype), rng.standard_normal((2, 65, 4)).astype(dtype)
    y, mixed = weft.toeplitz_product(x, t), weft.fourier_mix(x)
    for name, other in layouts(x):
        np.testing.assert_array_equal(weft.toeplitz_product(other, t), y, err_msg=name)
        np.testing.assert_array_equal(weft.fourier_mix(other), mixed, err_msg=name)
    for name, other in layouts(t):
        np.testing.assert_array_equal(weft.toeplitz_product(x, other), y, err_msg=name)
    one = np.broadcast_to(x[:1], x.shape)
    np.testing.assert_array_equal(weft.toeplitz_product(one, t)[1], weft.toeplitz_product(x[:1], t)[0])


def test_results_share_no_memory_with_what_was_given():
    x = np.ones((4, 4), np.float32)
    y = weft.fourier_mix(x)
    assert not np.shares_memory(x, y)
    y[:] = 5
    assert (x == 1).all()
    again = np.from_dlpack(y)  # passes it on by DLPack
    assert np.shares_memory(again, y)


def test_nothing():
    assert weft.toeplitz_product(np.ones((0, 2, 3, 4)), np.ones((2, 5, 4))).shape == (0, 2, 3, 4)


def test_memoryviews_are_arrays():
    x = np.arange(12, dtype=np.float64).reshape(3, 4)
    np.testing.assert_array_equal(weft.fourier_mix(memoryview(x)), weft.fourier_mix(x))


def test_mistakes_name_what_was_expected():
    x, t = np.ones((1, 1, 4, 2), np.float32), np.ones((1, 7, 2), np.float32)
    with pytest.raises(TypeError, match="x: expected an array of float32, float64 or bfloat16.*got int64"):
        weft.toeplitz_product(np.ones((1, 1, 4, 2), np.int64), t)
    with pytest.raises(TypeError, match="t: expected an array of float32 or float64.*got float16"):
        weft.toeplitz_product(x, t.astype(np.float16))
    with pytest.raises(TypeError, match="x: .*got list"):
        weft.fourier_mix([[1.0, 2.0]])
    with pytest.raises(TypeError, match="x: .*got complex64"):
        weft.fourier_mix(np.ones((2, 2), np.complex64))
    with pytest.raises(weft.Error, match=r"t of shape \(h, 2n-1, d\)"):
        weft.toeplitz_product(x, t[:, :6])
    with pytest.raises(weft.Error):
        weft.toeplitz_product(x, t.astype(np.float64))
    with pytest.raises(weft.Error):
        weft.fourier_mix(x, 1, 7)
    with pytest.raises(ValueError, match="form: expected"):
        weft.toeplitz_product(x, t, form="fast")
    odd = np.zeros(33, np.uint8)[1:].view(np.float64).reshape(2, 2)
    with pytest.raises(TypeError, match="multiples of their size"):
        weft.fourier_mix(odd)
