"""The cases of bench/operations/compare: weft's work, the work of its peers, and the goal for the ratio of their
speeds."""
import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spec:
    """A piece of work. weft-case --help describes the kinds and sizes."""
    kind: str
    b: int
    n: int
    d: int = 1
    causal: bool = True

    def request(self):
        return f"{self.kind} {self.b} {self.n} {self.d} {int(self.causal)}"

    def label(self):
        sizes = f"{self.b}x{self.n}" + (f"x{self.d}" if self.d > 1 else "")
        form = (" causal" if self.causal else " bidirectional") if self.kind.startswith("toeplitz") else ""
        return f"{self.kind} {sizes}{form}"


@dataclass(frozen=True)
class Rival:
    """A peer, and the limit for weft's speed divided by the peer's. Speed is the amount of `by` per second: calls,
    flops, bytes or n log n."""
    who: str  # torch, fftw or ducc0; weft: other work of weft itself
    limit: float | None = None
    spec: Spec | None = None  # the peer's work, if it differs
    by: str = "calls"


@dataclass(frozen=True)
class Case:
    spec: Spec
    rivals: tuple = field(default_factory=tuple)
    who: str = "weft"
    note: str = ""
    most_threads: int | None = None
    bound: float | None = None  # goal: weft's time is at most this multiple of least_time()

    def __str__(self):
        return " ".join(x for x in (self.spec.label(), self.note, "" if self.who == "weft" else f"({self.who})") if x)


def toeplitz():
    for causal in (True, False):
        for kind in ("toeplitz-cached", "toeplitz", "toeplitz-train"):
            yield Case(Spec(kind, 8, 512, 512, causal), (Rival("torch", 1),), bound=1.3)
        for b, n, d in ((1, 16384, 128), (4, 2048, 256)):
            yield Case(Spec("toeplitz-train", b, n, d, causal), (Rival("torch", 1),), bound=1.3)


def fourier_mix():
    for kind in ("mix", "mix-train"):
        yield Case(Spec(kind, 8, 512, 768), (Rival("torch", 1),), bound=1.3)


def columns():
    """c2c along axis -2. The MiB are those of input and output together. FFTW transforms contiguous rows instead."""
    channels = 64
    for mib in (4, 64):
        for n in (256, 512, 1024, 2048, 4096):
            b = (mib << 20) // (16 * n * channels)
            if mib == 4:
                rivals = (Rival("weft", 0.4, Spec("fma", 1, 1), "flops"),
                          Rival("fftw", 1.0, Spec("c2c", b * channels, n)))
            else:
                rivals = (Rival("weft", 0.6, Spec("copy", 1, mib << 19), "bytes"),)
            yield Case(Spec("c2c-columns", b, n, channels), rivals, note=f"{mib}MiB")


def rows():
    for kind in ("c2c", "r2c"):
        for n in (1 << k for k in range(6, 17)):
            yield Case(Spec(kind, 64, n), (Rival("fftw", 1.2), Rival("torch", 1.0), Rival("ducc0", 1.0)))
        for n in (96, 360, 768, 1000, 1536):
            yield Case(Spec(kind, 64, n), (Rival("fftw", 1.0), Rival("torch"), Rival("ducc0")))
        for n in (97, 509, 1009, 8191):
            power = 1 << (2 * n).bit_length()  # above 2n; n may take at most 3 times as long as this power of two
            yield Case(Spec(kind, 64, n), (Rival("weft", 1 / 3, Spec(kind, 64, power)), Rival("fftw")))


def growth():
    """The growth of a product's time divided by n log2 n, relative to n = 1024. The goals are at most 1.25 and 2. FFTW
    runs with one thread only, because its planning takes minutes."""
    for who in ("weft", "fftw"):
        start = Spec("toeplitz-cached", 1, 1024, 64)
        for n, most in ((1 << 16, 1.25), (1 << 20, 2.0)):
            limit = 1 / most if who == "weft" else None
            rivals = (Rival(who, limit, start, "n log n"),)
            yield Case(Spec("toeplitz-cached", 1, n, 64), rivals, who, "growth", None if who == "weft" else 1)


def cases():
    return [*toeplitz(), *fourier_mix(), *columns(), *rows(), *growth()]


def least_work(spec):
    """Returns (bytes, flops) of Fourier mixing or a Toeplitz product, for a lower bound of its time.

    Bytes: each input of the operation (and of its backward) is read once, and each output is written once. Spectra
    count only if they are inputs, because a fused product keeps its own spectra in the caches.

    Flops: a complex transform takes 5 n log2 n and a real one half of that. Elementwise products are added. A Toeplitz
    product of n real elements uses complex transforms of length n (kernels/toeplitz_ring.h). For each element, it takes
    2 flops for the factors before the transform, 3 for those after it, and 6 for the product of spectra. Backward
    transforms x again. Mixing uses real transforms along one axis, and complex transforms of half as many columns along
    the other axis, in the cheaper order."""
    b, n, d = spec.b, spec.n, spec.d
    if spec.kind in ("mix", "mix-train"):
        passes = 2 if spec.kind == "mix-train" else 1
        orders = [m * transform(k) / 2 + (k // 2 + 1) * transform(m) for m, k in ((n, d), (d, n))]
        return passes * 8 * b * n * d, passes * b * min(orders)
    lags = n if spec.causal else 2 * n - 1
    moved, given = 2 * b * n * d, lags * d
    columns, coefficients = 2 * transform(n) + 11 * n, transform(n) + 6 * n
    if spec.kind == "toeplitz-cached":
        return 4 * (moved + 2 * n * d), b * d * columns
    if spec.kind == "toeplitz":
        return 4 * (moved + given), d * (b * columns + coefficients)
    backward = 3 * transform(n) + 21 * n  # transforms of x, dy and dx, and a sum of products of 8 flops
    return 4 * (2.5 * moved + 3 * given), d * (b * (columns + backward) + 2 * coefficients)


def transform(n):
    return 5 * n * math.log2(n)


def least_time(work, copy_rate, fma_rate):
    """Returns seconds: the bytes at the speed of a copy, plus the flops at 40 % of the speed of multiply-adds in
    registers."""
    return work[0] / copy_rate + work[1] / (0.4 * fma_rate)


def amount(spec, by, reply):
    """Returns the amount of work of one call, in the unit `by`. `reply` is (flops, bytes) from weft-case."""
    if by == "n log n":
        return spec.n * math.log2(spec.n)
    return {"calls": 1.0, "flops": reply[0], "bytes": reply[1]}[by]


def nominal_flops(spec):
    """Returns the flops for the charts: 5 n log2 n for a complex transform, half of that for a real one."""
    transform = 5 * spec.n * math.log2(spec.n) * spec.b
    return {"c2c": transform, "r2c": transform / 2, "c2c-columns": transform * spec.d}.get(spec.kind)


def error_lengths(everything):
    """Returns the lengths at which the errors of transforms are measured."""
    some = {*range(1, 65), *(1 << k for k in range(6, 13)), 96, 97, 100, 101, 127, 243, 251, 343, 360, 509, 625, 768,
            1000, 1009, 1155, 1331, 1536, 2021, 2187, 2310, 3003, 3125, 3600, 4093, 4095}
    large = {1 << 13, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 8191, 16411, 59049, 100000, 2 * 8191, 1000000}
    return sorted((set(range(1, 4097)) if everything else some) | large)


def is_smooth(n):
    """Returns True if all prime factors are at most 13. Then the transform uses mixed radices instead of Bluestein's
    algorithm."""
    for p in (2, 3, 5, 7, 11, 13):
        while n % p == 0:
            n //= p
    return n == 1


def memory_sizes():
    for b, n, d in ((8, 512, 512), (1, 512, 64), (8, 1000, 256), (4, 2048, 256), (8, 4096, 512), (1, 4096, 64)):
        for causal in (True, False):
            yield b, n, d, causal
