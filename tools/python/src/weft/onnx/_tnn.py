"""TNN (models/tnn): Toeplitz Neural Network, arXiv 2305.04749."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._checks import ROW_TASKS, choice
from ._graph import Graph


def logits(g: Graph) -> str:
    """The logits of a TNN."""
    config = g.config
    x = g.embedded("", "embedding.weight", scaled=True)
    for k in range(config["layers"]):
        x = layer(g, f"layers.{k}", x)
    if g.task in ROW_TASKS:
        x = g.last_token(x) if choice("head", config["head"], ["mean", "last"]) == "last" else g.mean_of_tokens(x)
    x = normed(g, "norm", x, config["final_norm"] or config["norm_type"])
    return g.in_unit(g.linear("head", x) if g.has("head.weight") else g.transposed_product(x, "embedding.weight"))


def normed(g: Graph, name: str, x: str, kind: str = "") -> str:
    """A norm of the given type, which by default is that of the config.

    simplermsnorm has no parameters: x / (‖x‖₂/√d + 1e-8)."""
    if choice("norm_type", kind or g.config["norm_type"], ["layernorm", "simplermsnorm"]) == "layernorm":
        return g.layer_norm(name, x)
    square = g.add("ReduceMean", g.add("Mul", x, x), g.ints(-1))
    return g.add("Div", x, g.plus(g.add("Sqrt", square), g.constant(1e-8)))


def layer(g: Graph, name: str, x: str) -> str:
    """x + f(norm(x)), or x + norm(f(x)) without prenorm: first f is the token mixer, and then the feature mixer."""
    for kind, f in (("token", gtu), ("feature", glu)):
        mixer, norm = f"{name}.{kind}_mixer", f"{name}.{kind}_norm"
        x = g.plus(x, f(g, mixer, normed(g, norm, x)) if g.config["prenorm"] else normed(g, norm, f(g, mixer, x)))
    return x


def glu(g: Graph, name: str, x: str) -> str:
    """l3(act(l1 x) ⊙ l2 x)."""
    gate = g.activation(g.config["glu_act"], g.linear(name + ".l1", x))
    return g.linear(name + ".l3", g.add("Mul", gate, g.linear(name + ".l2", x)))


def gtu(g: Graph, name: str, x: str) -> str:
    """o(norm(act(u_proj x) ⊙ mix(act(v_proj x)))). The norm is omitted without use_norm."""
    u, v = (g.activation(g.config["act"], g.linear(f"{name}.{part}_proj", x)) for part in "uv")
    y = g.add("Mul", u, token_mix(g, name, v))
    return g.linear(name + ".o", normed(g, name + ".norm", y) if g.config["use_norm"] else y)


def token_mix(g: Graph, name: str, v: str) -> str:
    """The Toeplitz operator along the sequence, or the sum of two operators along columns and rows of a picture."""
    if choice("mixing", g.config["mixing"], ["sequence", "picture"]) == "sequence":
        return tno(g, name + ".toep", v, g.length())
    (rows, columns), channels = g.grid(), g.tensors[name + ".v_proj.weight"].shape[0]
    picture = g.add("Reshape", v, g.ints(-1, rows, columns, channels))
    along_columns = g.swap(tno_of_lines(g, name + ".toep", g.swap(picture), columns, rows, channels))
    along_rows = tno_of_lines(g, name + ".toep2", picture, rows, columns, channels)
    return g.add("Reshape", g.plus(along_columns, along_rows), g.ints(-1, rows * columns, channels))


def tno_of_lines(g: Graph, name: str, x: str, lines: int, n: int, channels: int) -> str:
    """The Toeplitz operator along each line of x (b, lines, n, channels)."""
    y = tno(g, name, g.add("Reshape", x, g.ints(-1, n, channels)), g.ints(n))
    return g.add("Reshape", y, g.ints(-1, lines, n, channels))


def tno(g: Graph, name: str, x: str, n: str) -> str:
    """y_i = Σ_j t_(i-j) x_j, x (b, n, d1).

    There is no axis for heads, because each channel has its own coefficients, whatever the number of heads is."""
    t, causal = coefficients(g, name, n), is_causal(g)
    y = toeplitz_product(g, x, t, n, causal)
    return g.add("Div", y, sums_of_coefficients(g, t, n, causal)) if g.config["normalize"] else y


def is_causal(g: Graph) -> bool:
    """Whether a token is mixed only with earlier ones."""
    return g.task == "causal-lm" or g.config["causal"]


def lags_of(g: Graph, n: str) -> str:
    """The lags of n positions as f64 numbers (m, 1): 0 … n-1 if causal, otherwise -(n-1) … n-1."""
    def make() -> str:
        return g.column(g.range(g.ints(0) if is_causal(g) else g.add("Sub", g.ints(1), n), n))
    return g.once(("lags", n), make)


def coefficients(g: Graph, name: str, n: str) -> str:
    """t_k = act_type(gamma^|k| · rpe(p_k)), (m, d1)."""
    lags = lags_of(g, n)
    t = rpe(g, name + ".rpe", g.once(("rpe", n), lambda: rpe_positions(g, lags, n)))
    if g.config["use_decay"] or g.config["use_multi_decay"]:
        t = g.add("Mul", t, decay(g, name, lags, n))
    return g.activation(g.config["act_type"], t)


def rpe_positions(g: Graph, lags: str, n: str) -> str:
    """The input of the relative position encoder for lag k, (m, 1): k, k/(n-1) or exp(k/(n-1))."""
    kind = choice("par_type", g.config["par_type"], [1, 2, 3])
    if kind == 1:
        return g.cast(lags, np.float32)
    last = g.cast(g.add("Max", g.add("Sub", n, g.ints(1)), g.ints(1)), np.float64)
    share = g.add("Div", lags, last)
    return g.cast(share if kind == 2 else g.add("Exp", share), np.float32)


def rpe(g: Graph, name: str, positions: str) -> str:
    """The relative position encoder: a linear layer, and then rpe_layers + 1 times linear(act(norm(x))).

    With rpe_residual, all of these layers except the last one have a residual connection."""
    def apply(layer: str, x: str) -> str:
        return g.linear(layer + ".2", g.activation(g.config["rpe_act"], normed(g, layer + ".0", x)))

    x = g.linear(name + ".pos_proj", positions)
    for k in range(g.config["rpe_layers"]):
        y = apply(f"{name}.layers.{k}", x)
        x = g.plus(y, x) if g.config["rpe_residual"] else y
    return apply(name + ".out", x)


def decay(g: Graph, name: str, lags: str, n: str) -> str:
    """gamma^|k|, (m, 1), or (m, d1) with a learned gamma for each channel."""
    steps = g.once(("steps", n), lambda: g.add("Abs", lags))
    gamma = g.config["gamma"]
    if g.config["use_decay"]:
        return g.once(("decay", n), lambda: g.cast(g.add("Pow", g.constant(gamma, np.float64), steps), np.float32))
    gamma = max(gamma, float(np.finfo(np.float32).tiny))
    own = g.take(name + ".gamma").astype(np.float64).reshape(1, -1)
    learned = 1 / (1 + np.exp(-own - decay_offsets(g, own.size)))
    rates = np.log(gamma + (1 - gamma) * learned)
    return g.add("Exp", g.add("Mul", g.cast(steps, np.float32), g.constant(rates)))


def decay_offsets(g: Graph, channels: int) -> npt.NDArray[np.float64]:
    """The numbers that are added to the learned decays before the sigmoid, as in Tno::decay_offsets()."""
    longest = g.config["time_scales"]
    if longest == 0:
        return np.zeros(channels)
    shares = np.arange(channels) / (channels - 1) if channels > 1 else np.ones(1)
    return -np.log(np.expm1(float(longest) ** -shares))


def toeplitz_product(g: Graph, x: str, t: str, n: str, causal: bool) -> str:
    """y_i = Σ_j t_(i-j) x_j, computed with Fourier transforms.

    Their length is a power of 2, because onnxruntime's DFT is accurate for such lengths. The length is at least 2n - 1,
    so that sums that wrap around end up outside y. The transforms use f64, because in f32 a large sum at one position
    causes errors in small sums at others. In onnxruntime, f64 takes no longer than f32."""
    size = g.once(("size", n), lambda: power_of_two(g, n))
    ring = g.add("DFT", complex_product(g, spectrum(g, x, [0, 2, 1], size), spectrum(g, t, [1, 0], size)), "",
                 g.constant(-2, np.int64), inverse=1)  # (b, d1, size, 2)
    first = g.ints(0) if causal else g.add("Sub", n, g.ints(1))
    real = g.add("Gather", g.slice(ring, first, g.plus(first, n), -2), g.constant(0, np.int64), axis=-1)
    return g.add("Transpose", g.cast(real, np.float32), perm=[0, 2, 1])


def power_of_two(g: Graph, n: str) -> str:
    """The smallest power of 2 that is at least 2n - 1, as a scalar."""
    powers = g.ints(*(2**k for k in range(40)))
    is_small = g.cast(g.add("Less", powers, g.add("Sub", g.add("Mul", n, g.ints(2)), g.ints(1))), np.int64)
    return g.add("Gather", powers, g.add("ReduceSum", is_small, keepdims=0))


def spectrum(g: Graph, x: str, perm: list[int], size: str) -> str:
    """The Fourier transform of each channel of x, padded to `size`: (…, d1, size, 2).

    The transformed axis comes after all others, because this order is several times as fast."""
    channels = g.add("Unsqueeze", g.cast(g.add("Transpose", x, perm=perm), np.float64), g.ints(-1))
    return g.add("DFT", channels, size, g.constant(-2, np.int64))


def complex_product(g: Graph, x: str, y: str) -> str:
    """The complex product x · y. Both are (…, 2), with the real and the imaginary part."""
    (a, b), (c, d) = ([g.slice(z, g.ints(k), g.ints(k + 1), -1) for k in (0, 1)] for z in (x, y))
    real = g.add("Sub", g.add("Mul", a, c), g.add("Mul", b, d))
    imaginary = g.plus(g.add("Mul", a, d), g.add("Mul", b, c))
    return g.add("Concat", real, imaginary, axis=-1)


def sums_of_coefficients(g: Graph, t: str, n: str, causal: bool) -> str:
    """Σ_j t_(i-j) for each position i, (n, d1): the sum of lags 0 … i, plus that of lags -(n-1-i) … -1."""
    first = g.constant(0, np.int64)
    if causal:
        return g.add("CumSum", t, first)
    middle, end = g.add("Sub", n, g.ints(1)), g.ints(2**62)
    later = g.add("CumSum", g.slice(t, g.ints(0), middle, 0), first, reverse=1)  # row i: lags -(n-1-i) … -1
    later = g.add("Pad", later, g.ints(0, 0, 1, 0))  # no positions follow the last one
    return g.plus(g.add("CumSum", g.slice(t, middle, end, 0), first), later)
