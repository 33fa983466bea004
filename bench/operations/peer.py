"""Runs single cases in PyTorch, ducc0 or numpy. It answers the requests `case`, `run` and `ran` like weft-case, and
`version`.
usage: peer.py torch|ducc0|numpy THREADS MIN_TIME SAMPLER
A `case` request ends with the formulation to use (see formulations)."""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "machine"))
from isa import Sampler
from serve import serve

# Formulations with the same result. toeplitz: the sequence is along dim -2 of (b, n, d) or along the last one of
# (b, d, n). mix: two calls of fft.fft or one of fft2.
LAYOUTS = {"toeplitz-cached": ["bnd", "bdn"], "toeplitz": ["bnd", "bdn"], "toeplitz-train": ["bnd", "bdn"],
           "mix": ["fft.fft", "fft2"], "mix-train": ["fft.fft", "fft2"]}


def formulations(kind):
    return LAYOUTS.get(kind, ["-"])


def product_by_fft(torch, x, spectra, dim, n):
    """Returns irfft(rfft(x, 2n) · spectra)[:n]."""
    return torch.fft.irfft(torch.fft.rfft(x, n=2 * n, dim=dim) * spectra, n=2 * n, dim=dim).narrow(dim, 0, n)


def torch_toeplitz(torch, kind, b, n, d, causal, layout):
    """Returns a function that computes product_by_fft with the spectra rfft(c, 2n). c has the n causal coefficients
    or, if bidirectional, a circulant of length 2n."""
    dim = -2 if layout == "bnd" else -1
    length = n if causal else 2 * n
    x = torch.randn((b, n, d) if layout == "bnd" else (b, d, n))
    c = torch.randn((length, d) if layout == "bnd" else (d, length))
    kept = torch.fft.rfft(c, n=2 * n, dim=dim)

    def product(x, c):
        return product_by_fft(torch, x, torch.fft.rfft(c, n=2 * n, dim=dim), dim, n)

    if kind == "toeplitz-cached":
        return lambda: product_by_fft(torch, x, kept, dim, n)
    if kind == "toeplitz":
        return lambda: product(x, c)
    return torch_train(torch, product, [x, c])


def torch_mix(torch, kind, b, n, d, formulation):
    x = torch.randn(b, n, d)

    def mix(x):
        if formulation == "fft2":
            return torch.fft.fft2(x, dim=(-2, -1)).real
        return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real

    return (lambda: mix(x)) if kind == "mix" else torch_train(torch, mix, [x])


def torch_train(torch, f, inputs):
    """Returns a function that runs forward and backward with a fixed cotangent."""
    leaves = [x.requires_grad_() for x in inputs]
    with torch.enable_grad():
        cotangent = torch.randn_like(f(*leaves))

    def run():
        for leaf in leaves:
            leaf.grad = None
        with torch.enable_grad():
            f(*leaves).backward(cotangent)

    return run


def torch_work(threads):
    import torch
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.set_grad_enabled(False)

    def make(kind, b, n, d, causal, formulation):
        if kind.startswith("toeplitz"):
            return torch_toeplitz(torch, kind, b, n, d, causal, formulation)
        if kind.startswith("mix"):
            return torch_mix(torch, kind, b, n, d, formulation)
        if kind == "c2c":
            x = torch.randn(b, n, dtype=torch.complex64)
            return lambda: torch.fft.fft(x, dim=-1)
        if kind == "r2c":
            x = torch.randn(b, n)
            return lambda: torch.fft.rfft(x, dim=-1)
        return None

    return make, f"PyTorch {torch.__version__}"


def ducc0_work(threads):
    import ducc0
    import numpy as np

    def make(kind, b, n, d, causal, formulation):
        x = np.random.default_rng(1).standard_normal((b, n), dtype=np.float32)
        if kind == "c2c":
            x = x.astype(np.complex64)
            out = np.empty_like(x)
            return lambda: ducc0.fft.c2c(x, axes=(1,), out=out, nthreads=threads)
        if kind == "r2c":
            out = np.empty((b, n // 2 + 1), dtype=np.complex64)
            return lambda: ducc0.fft.r2c(x, axes=(1,), out=out, nthreads=threads)
        return None

    return make, f"ducc0 {ducc0.__version__}"


def letters(equation):
    """Returns the letters in the order of their first appearance in the operands."""
    return list(dict.fromkeys(c for c in equation.split("->")[0] if c.isalpha()))


def numpy_work(threads):
    """numpy has no function that sets the number of threads. process.py sets it in the environment."""
    import numpy as np

    def make(kind, b, n, d, causal, formulation):
        if not kind.startswith("einsum:"):
            return None
        _, equation, sizes = kind.split(":")
        size_of, random = dict(zip(letters(equation), map(int, sizes.split(",")))), np.random.default_rng(1)
        operands = [random.standard_normal([size_of[c] for c in term], dtype=np.float32)
                    for term in equation.split("->")[0].split(",")]
        return lambda: np.einsum(equation, *operands, optimize=True)

    return make, f"numpy {np.__version__}"


def seconds_per_call(run, min_time):
    """Measures like seconds_per_call in timing.cpp."""
    clock = time.perf_counter
    warm, calls = clock(), 0
    while calls == 0 or clock() - warm < min_time / 10:
        run()
        calls += 1
    calls = max(1, round(min_time / ((clock() - warm) / calls)))
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls


class Peer:
    """A library and the work that it runs now."""

    def __init__(self, who, threads, min_time, sampler):
        self.make, self.name = {"torch": torch_work, "ducc0": ducc0_work, "numpy": numpy_work}[who](threads)
        self.min_time, self.sampler = min_time, sampler
        self.work = None

    def version(self):
        return self.name

    def case(self, kind, b, n, d, causal, formulation):
        self.work = None  # frees the previous one
        self.work = self.make(kind, int(b), int(n), int(d), causal == "1", formulation)
        if self.work is None:
            return "none"
        self.work()
        return "ok 0 0"

    def run(self):
        return seconds_per_call(self.work, self.min_time)

    def ran(self):
        return self.sampler.sample(self.work, 0.1)


if __name__ == "__main__":
    library = Peer(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Sampler(sys.argv[4]))
    serve({"version": library.version, "case": library.case, "run": library.run, "ran": library.ran})
