"""Implements --isa of bench/operations/compare and bench/steps/step_compare: caps peers and samples what they execute.
usage: isa.py LIBRARY ISA PROBE...
Samples the parts of PyTorch that the PROBEs name and prints the result as JSON. LIBRARY is the library of Sampler."""
import ctypes
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

# Kinds of samples, in increasing order of what a CPU must support. sampled.h has the same order.
KINDS = ("other", "sse", "avx", "avx2", "avx512", "avx512bf16")


@dataclass(frozen=True)
class Cap:
    most: str   # the most demanding of KINDS that a peer may run
    aten: str   # PyTorch's own kernels, and the code that its compiler generates
    march: str  # the -march that PyTorch's compiler passes to g++
    onednn: str
    fbgemm: str | None  # int8 products; AVX2 is FBGEMM's minimum
    mkl: dict   # works on Intel CPUs only, except for the compatible mode; on AMD CPUs MKL uses at most AVX2
    ducc0: int  # x86-64 level
    c_library: str | None = None  # CPU features that its copy functions must not use
    engine: str | None = None     # PyTorch's engine for quantized products

    def environment(self):
        """Returns the environment variables for a peer's process."""
        found = {"ATEN_CPU_CAPABILITY": self.aten, "TORCHINDUCTOR_CPP_MARCH": self.march, **self.mkl,
                 "ONEDNN_MAX_CPU_ISA": self.onednn, "DUCC0_MAX_PSABI_LEVEL": str(self.ducc0)}
        if self.fbgemm:
            found["FBGEMM_ENABLE_INSTRUCTIONS"] = self.fbgemm
        if self.c_library:
            found["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=" + self.c_library
        return found


NO_AVX512 = "-AVX512F,-AVX512VL,-AVX512BW"
CAPS = {
    "sse2": Cap("sse", "default", "x86-64", "SSE41", "AVX2", {"MKL_CBWR": "COMPATIBLE"}, 1,
                NO_AVX512 + ",-AVX2,-AVX,-AVX_Fast_Unaligned_Load", "onednn"),
    "avx2": Cap("avx2", "avx2", "haswell", "AVX2", "AVX2", {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}, 3, NO_AVX512),
    "avx512": Cap("avx512", "avx512", "skylake-avx512", "AVX512_CORE", "AVX512",
                  {"MKL_ENABLE_INSTRUCTIONS": "AVX512"}, 4),
    "avx512bf16": Cap("avx512bf16", "avx512", "cooperlake", "AVX512_CORE_BF16", None, {}, 4),
}


def environment(isa):
    """Returns the environment that caps a peer. It is empty without --isa, and for instruction sets to which no peer
    can be capped."""
    return CAPS[isa].environment() if isa in CAPS else {}


def weft_flags(isa):
    return ["--isa", isa] if isa else []


def check(program, isa, flags=()):
    """If `program` cannot use the instruction set, prints its error message and ends the script."""
    if isa:
        command = [program, "--isa", isa, *flags]
        tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if tried.returncode != 0:
            print(tried.stderr.strip(), file=sys.stderr)
            sys.exit(2)


def sampler_library(build):
    """Returns the path of the library weft-sampled in a build folder."""
    return build / "bench/libweft-sampled.so"


class Sampler:
    """Samples the vector instructions that this thread executes. It uses the library weft-sampled. Without the library,
    there are no samples."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library)) if Path(library).exists() else None

    def sample(self, run, seconds):
        """Calls `run` repeatedly for this time, but at least once. Returns {kind: number of samples}."""
        counts = (ctypes.c_long * len(KINDS))()
        if self.library is None:
            return dict.fromkeys(KINDS, 0)
        end = time.perf_counter() + seconds
        self.library.weft_sampling_start()
        try:
            run()
            while time.perf_counter() < end:
                run()
        finally:
            self.library.weft_sampling_stop(counts)
        return dict(zip(KINDS, counts))


def vectors(samples):
    return sum(samples.values()) - samples["other"]


def shares(samples):
    """Returns the shares of the vector instructions as text, for example "avx2 95 %, sse 5 %"."""
    every = vectors(samples)
    parts = [(kind, samples[kind] / every) for kind in reversed(KINDS[1:]) if every and samples[kind] > every / 100]
    return ", ".join(f"{kind} {part * 100:.0f} %" for kind, part in parts) or "no vector instructions"


def ran(samples):
    """Returns the most demanding kind with at least a twentieth of the vector instructions."""
    return next((kind for kind in reversed(KINDS[1:]) if samples[kind] * 20 >= max(vectors(samples), 1)), "-")


def is_capped(samples, isa):
    """Returns True if at most a twentieth of the vector instructions are beyond `isa`, and None without --isa or
    without samples."""
    if isa not in CAPS or not vectors(samples):
        return None
    beyond = sum(samples[kind] for kind in KINDS[KINDS.index(CAPS[isa].most) + 1:])
    return beyond * 20 <= vectors(samples)


def record(samples, isa):
    """Returns the JSON entries for the samples of a contestant."""
    return {"instructions": samples, "ran": ran(samples), "capped": is_capped(samples, isa)}


def note(recorded):
    """Returns the text for a table: which instructions ran, and whether they are beyond the cap."""
    return f"ran {shares(recorded['instructions'])}" + (", NOT CAPPED" if recorded["capped"] is False else "")


def inductor_probe(torch):
    compiled = torch.compile(torch.nn.Sequential(torch.nn.LayerNorm(512), torch.nn.GELU()))
    x = torch.randn(512, 512)
    return lambda: compiled(x)


def quantized_probe(torch):
    torch.backends.quantized.engine = ENGINE or torch.backends.quantized.engine
    layer = torch.nn.Sequential(torch.nn.Linear(512, 512))
    quantized = torch.ao.quantization.quantize_dynamic(layer, {torch.nn.Linear}, dtype=torch.qint8)
    x = torch.randn(128, 512)
    return lambda: quantized(x)


def copy_probe(torch):
    to, source = ctypes.create_string_buffer(1 << 22), ctypes.create_string_buffer(1 << 22)
    return lambda: ctypes.memmove(to, source, 1 << 22)


def pair_probe(operation, *shapes):
    def probe(torch):
        tensors = [torch.randn(shape) for shape in shapes]
        return lambda: operation(torch, *tensors)
    return probe


ENGINE = None  # PyTorch's engine for quantized products
# Each probe runs one of the libraries that PyTorch consists of.
PROBES = {
    "ATen": pair_probe(lambda torch, x: torch.nn.functional.gelu(x), (512, 512)),
    "MKL products": pair_probe(lambda torch, x, y: x @ y, (512, 512), (512, 512)),
    "MKL transforms": pair_probe(lambda torch, x: torch.fft.rfft(x), (512, 512)),
    "oneDNN": pair_probe(lambda torch, x, w: torch.nn.functional.conv2d(x, w), (1, 64, 56, 56), (64, 64, 3, 3)),
    "int8 products": quantized_probe,
    "Inductor": inductor_probe,
    "C library": copy_probe,
}


def probe(library, names):
    """Samples PyTorch in this process. Returns {probe: samples}, the capability that ATen reports, and the engine of
    quantized products."""
    import torch
    torch.set_num_threads(1)
    sampler, found = Sampler(library), {}
    with torch.no_grad():
        for name in names:
            run = PROBES[name](torch)
            run()
            found[name] = sampler.sample(run, 0.1)
    return {"capability": torch.backends.cpu.get_cpu_capability(), "quantized": torch.backends.quantized.engine,
            "samples": found}


def torch_parts(library, names, isa):
    """Samples what the parts of PyTorch execute if they are capped to `isa`. Returns {"ATen": record, ...} and prints
    one line."""
    import os
    command = [sys.executable, "-W", "ignore", __file__, str(library), isa or "-", *names]
    answer = subprocess.run(command, env={**os.environ, **environment(isa)}, capture_output=True, text=True)
    if answer.returncode != 0:
        print(f"PyTorch's parts could not be sampled: {answer.stderr.strip()}", file=sys.stderr)
        return {}
    found = json.loads(answer.stdout.splitlines()[-1])
    parts = {name: record(samples, isa) for name, samples in found["samples"].items()}
    told = [f"{name} ran {part['ran']}" + (" (NOT CAPPED)" if part["capped"] is False else "")
            for name, part in parts.items()]
    capped = f" capped to {isa}" if isa in CAPS else ""
    print(f"PyTorch{capped}, ATen reports {found['capability']}: {', '.join(told)}", flush=True)
    return parts


if __name__ == "__main__":
    ENGINE = CAPS[sys.argv[2]].engine if sys.argv[2] in CAPS else None
    print(json.dumps(probe(sys.argv[1], sys.argv[3:])))
