"""weft.torch: values, gradients and layouts compared with PyTorch's own operations."""

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import weft  # noqa: E402
import weft.torch  # noqa: E402


def by_torch(x, t, causal):
    """The same product by torch.fft."""
    n = x.shape[2]
    if causal:
        lags = torch.cat([t, torch.zeros_like(t)], 1)
    else:
        lags = torch.cat([t[:, n - 1:], torch.zeros_like(t[:, :1]), t[:, :n - 1]], 1)
    return torch.fft.irfft(torch.fft.rfft(x, 2 * n, 2) * torch.fft.rfft(lags, 2 * n, 1), 2 * n, 2)[:, :, :n]


def operands(n, causal, dtype=torch.float64):
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(2, 3, n, 5, dtype=dtype, generator=generator)
    t = torch.randn(3, n if causal else 2 * n - 1, 5, dtype=dtype, generator=generator)
    return x.requires_grad_(), t.requires_grad_()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 8, 130, 600])
def test_toeplitz_product_is_that_of_torch_fft(n, causal):
    x, t = operands(n, causal)
    y, expected = weft.torch.toeplitz_product(x, t, causal), by_torch(x, t, causal)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-10)
    w = torch.randn_like(y)
    gradients = torch.autograd.grad((y * w).sum(), (x, t))
    for got, wanted in zip(gradients, torch.autograd.grad((expected * w).sum(), (x, t))):
        assert got.shape == wanted.shape
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 5, 70])
def test_toeplitz_gradcheck(n, causal):
    x = torch.randn(1, 2, n, 2, dtype=torch.float64, requires_grad=True)
    t = torch.randn(2, n if causal else 2 * n - 1, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: weft.torch.toeplitz_product(a, b, causal), (x, t))
    assert torch.autograd.gradcheck(lambda a: weft.torch.toeplitz_product(a, t.detach(), causal), (x,))
    assert torch.autograd.gradcheck(lambda b: weft.torch.toeplitz_product(x.detach(), b, causal), (t,))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 5])
def test_toeplitz_gradients_of_gradients(n, causal):
    x = torch.randn(2, 2, n, 2, dtype=torch.float64, requires_grad=True)
    t = torch.randn(2, n if causal else 2 * n - 1, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda a, b: weft.torch.toeplitz_product(a, b, causal), (x, t))
    assert torch.autograd.gradgradcheck(lambda a: weft.torch.toeplitz_product(a, t.detach(), causal), (x,))
    assert torch.autograd.gradgradcheck(lambda b: weft.torch.toeplitz_product(x.detach(), b, causal), (t,))


@pytest.mark.parametrize("causal", [False, True])
def test_a_penalty_on_a_gradient_reaches_all_of_its_inputs(causal):
    x, t = operands(12, causal)

    def gradients(product):
        y = product(x, t, causal)
        dx, = torch.autograd.grad(y.sum(), x, create_graph=True)  # y's gradient is constant, but dx depends on t
        dt, = torch.autograd.grad(y.square().sum(), t, create_graph=True)
        return torch.autograd.grad(dx.square().sum() + dt.sin().sum() + y.sum(), (x, t))

    for got, wanted in zip(gradients(weft.torch.toeplitz_product), gradients(by_torch)):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)


def test_fourier_mix_gradcheck():
    x = torch.randn(2, 6, 5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(weft.torch.fourier_mix(x), torch.fft.fft2(x).real)
    assert torch.autograd.gradcheck(weft.torch.fourier_mix, (x,))
    assert torch.autograd.gradcheck(lambda a: weft.torch.fourier_mix(a, 0, 2), (x,))
    assert torch.autograd.gradgradcheck(weft.torch.fourier_mix, (x,))


def test_gradients_of_any_layout():
    x, t = operands(40, True)
    y = weft.torch.toeplitz_product(x.transpose(1, 2).contiguous().transpose(1, 2), t, True)
    gradient = torch.ones(()).double().expand(y.shape)  # strides of 0, like the gradient of sum()
    dx, dt = torch.autograd.grad(y, (x, t), gradient)
    ex, et = torch.autograd.grad(weft.torch.toeplitz_product(x, t, True), (x, t), torch.ones_like(y))
    torch.testing.assert_close(dx, ex)
    torch.testing.assert_close(dt, et)


def test_tensors_with_a_lazy_sign():
    z = torch.randn(1, 2, 5, 3, dtype=torch.complex128)
    x = z.conj().imag
    assert x.is_neg()
    t = torch.randn(2, 9, 3, dtype=torch.float64)
    torch.testing.assert_close(weft.torch.toeplitz_product(x, t), weft.torch.toeplitz_product(x.resolve_neg(), t))
    torch.testing.assert_close(weft.torch.fourier_mix(x), weft.torch.fourier_mix(x.resolve_neg()))
    np.testing.assert_array_equal(weft.fourier_mix(x), weft.fourier_mix(x.resolve_neg()))


def test_gradients_with_a_lazy_sign():
    x = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)

    def loss(mixed):
        return torch.view_as_real(torch.complex(torch.zeros_like(mixed), mixed).conj().resolve_conj()).sum()

    (mine,) = torch.autograd.grad(loss(weft.torch.fourier_mix(x)), x)
    (theirs,) = torch.autograd.grad(loss(torch.fft.fft2(x).real), x)
    torch.testing.assert_close(mine, theirs)


def test_float32_and_bfloat16():
    x, t = operands(64, False, torch.float32)
    y = weft.torch.toeplitz_product(x, t)
    assert y.dtype == torch.float32
    low = weft.torch.toeplitz_product(x.detach().bfloat16().requires_grad_(), t)
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), y, rtol=0.05, atol=0.5)
    low.sum().backward()
    assert t.grad.dtype == torch.float32
    assert weft.torch.fourier_mix(x.detach().bfloat16()).dtype == torch.bfloat16


def test_in_a_model():
    layer = torch.nn.Linear(6, 6)
    x = torch.randn(2, 9, 6)
    loss = weft.torch.fourier_mix(layer(x)).square().mean()
    loss.backward()
    mine = layer.weight.grad.clone()
    layer.weight.grad = None
    torch.fft.fft2(layer(x)).real.square().mean().backward()
    torch.testing.assert_close(mine, layer.weight.grad, rtol=1e-4, atol=1e-4)


def test_numpy_functions_take_tensors():
    x = torch.randn(4, 6)
    y = weft.fourier_mix(x)
    assert isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, weft.fourier_mix(x.numpy()))
    low = weft.fourier_mix(x.bfloat16())
    assert low.dtype == np.float32
    with pytest.raises(TypeError, match="requires grad: use the functions of weft.torch"):
        weft.fourier_mix(x.requires_grad_())


def test_tensors_are_tokens(fixtures):
    model = weft.load(fixtures / "gmlp-causal-lm")
    tokens = model.encode("5 plus")
    np.testing.assert_array_equal(model(torch.from_numpy(tokens)), model(tokens))


def test_results_live_on():
    y = weft.torch.fourier_mix(torch.ones(64, 64))
    z = y[0]
    del y
    weft.torch.fourier_mix(torch.zeros(64, 64))
    assert z[0] == 64 * 64


def test_backward_on_another_thread():
    x, t = operands(100, True)
    y = weft.torch.toeplitz_product(x, t, True)
    thread = threading.Thread(target=lambda: y.sum().backward())
    thread.start()
    thread.join()
    expected = torch.autograd.grad(weft.torch.toeplitz_product(x, t, True).sum(), (x, t))
    torch.testing.assert_close(x.grad, expected[0])
    torch.testing.assert_close(t.grad, expected[1])


def test_mistakes():
    with pytest.raises(TypeError, match="x: expected an array of float32, float64 or bfloat16.*torch.float16"):
        weft.torch.fourier_mix(torch.ones(2, 2).half())
    with pytest.raises(weft.Error):
        weft.torch.toeplitz_product(torch.ones(1, 1, 4, 2), torch.ones(1, 4, 2))
    with pytest.raises(TypeError, match="x: "):
        weft.torch.fourier_mix(torch.ones(2, 2, device="meta"))
