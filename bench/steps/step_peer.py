"""Runs the training step or the forward pass of weft-step-bench's models in PyTorch. The models are built from
the papers' formulas. The program answers the requests of weft-step-bench --serve, and also "formulations" and
"compare". If "seconds" is given, it runs steps for that many seconds instead, prints the steps per second and ends.
usage: step_peer.py 'JSON object with the sizes and with keys of DEFAULTS'"""
import functools
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "machine"))
from isa import Sampler
from serve import serve

# variant: "eager", "compiled" or "frozen", optionally preceded by "autocast", "whole" or "int8" (see step_cases.py).
# sampler: the library for the request "ran". engine: the engine for quantized products, or None for PyTorch's default.
DEFAULTS = {"mode": "train", "threads": 1, "formulation": None, "variant": "eager", "sampler": "", "engine": None,
            "seconds": None}
# Formulations with the same result. gmlp: the form of the spatial gating. Sequences are (b, n, d), or (n, b, d) in the
# last form. tnn: transforms along dim -2 of (b, n, d) or along the last dim of (b, d, n). In a forward pass, tnn can
# also keep the spectra of the coefficients.
FORMULATIONS = {"gmlp": ["einsum", "matmul", "conv1d", "einsum-nbd"], "tnn": ["bnd", "bdn"],
                "fnet": ["fft2", "fft.fft"]}


def formulations(model, mode):
    kept = [f + "-kept" for f in FORMULATIONS[model]] if (model, mode) == ("tnn", "forward") else []
    return FORMULATIONS[model] + kept


class SpatialGatingUnit(nn.Module):
    """z1 ⊙ (W norm(z2) + b). If causal, W is lower triangular."""

    def __init__(self, d_z, n, formulation, causal):
        super().__init__()
        self.norm = nn.LayerNorm(d_z // 2)
        self.weight = nn.Parameter(torch.empty(n, n).uniform_(-0.01, 0.01))
        self.bias = nn.Parameter(torch.ones(n))
        self.formulation, self.causal = formulation, causal

    def forward(self, z):
        z1, z2 = z.chunk(2, dim=-1)
        z2, w = self.norm(z2), self.weight.tril() if self.causal else self.weight
        if self.formulation == "conv1d":
            return z1 * F.conv1d(z2, w.unsqueeze(-1), self.bias)
        if self.formulation == "einsum-nbd":
            return z1 * (torch.einsum("mn,nbd->mbd", w, z2) + self.bias[:, None, None])
        mixed = w @ z2 if self.formulation == "matmul" else torch.einsum("mn,bnd->bmd", w, z2)
        return z1 * (mixed + self.bias[:, None])


def sinusoids(n, d):
    """Returns the position table (n, d): at position p, columns 2i and 2i+1 are the sine and the cosine of
    p · 10000^(-2i/d)."""
    angles = torch.arange(n, dtype=torch.float64)[:, None] * 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()


class GmlpBlock(nn.Module):
    """x + dropout(proj2(sgu(gelu(proj1(norm(x))))))."""

    def __init__(self, s, formulation, causal=True, dropout=0):
        super().__init__()
        self.norm = nn.LayerNorm(s["d_model"])
        self.proj1 = nn.Linear(s["d_model"], s["d_ffn"])
        self.sgu = SpatialGatingUnit(s["d_ffn"], s["seq_len"], formulation, causal)
        self.proj2 = nn.Linear(s["d_ffn"] // 2, s["d_model"])
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x):
        return x + self.dropout(self.proj2(self.sgu(F.gelu(self.proj1(self.norm(x))))))


class Rpe(nn.Module):
    def __init__(self, dim, layers, outdim):
        super().__init__()
        def layer(out):
            return nn.Sequential(nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, out))
        self.pos_proj = nn.Linear(1, dim)
        self.layers = nn.ModuleList(layer(dim) for _ in range(layers))
        self.out = layer(outdim)

    def forward(self, positions):
        x = self.pos_proj(positions)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


class Tno(nn.Module):
    """irfft(rfft(x, 2n) · rfft(t, 2n))[:n], t_k = gamma^k rpe(k)."""

    def __init__(self, s, d1, formulation):
        super().__init__()
        self.rpe = Rpe(s["rpe_dim"], s["rpe_layers"], d1)
        lags = torch.arange(s["seq_len"], dtype=torch.float64)[:, None]
        self.register_buffer("lags", lags.float(), persistent=False)
        self.register_buffer("decay", (0.99 ** lags).float(), persistent=False)
        self.channels_first, self.keep = formulation.startswith("bdn"), formulation.endswith("kept")
        self.kept = None

    def spectra(self, dim, n):
        if self.kept is not None:
            return self.kept
        t = self.decay.float() * self.rpe(self.lags).float()
        spectra = torch.fft.rfft(t.t().contiguous() if self.channels_first else t, n=2 * n, dim=dim)
        if self.keep:
            self.kept = spectra
        return spectra

    def forward(self, x):
        n, dim = x.shape[1], -1 if self.channels_first else -2
        if self.channels_first:
            x = x.transpose(1, 2).contiguous()
        product = torch.fft.rfft(x.float(), n=2 * n, dim=dim) * self.spectra(dim, n)
        y = torch.fft.irfft(product, n=2 * n, dim=dim).narrow(dim, 0, n).to(x.dtype)
        return y.transpose(1, 2) if self.channels_first else y


class Gtu(nn.Module):
    """o(silu(u_proj x) ⊙ toep(silu(v_proj x)))."""

    def __init__(self, s, formulation):
        super().__init__()
        d, d1 = s["d_model"], s["expand_ratio"] * s["d_model"]
        self.v_proj, self.u_proj, self.o = nn.Linear(d, d1), nn.Linear(d, d1), nn.Linear(d1, d)
        self.toep = Tno(s, d1, formulation)

    def forward(self, x):
        return self.o(F.silu(self.u_proj(x)) * self.toep(F.silu(self.v_proj(x))))


class Glu(nn.Module):
    """l3(silu(l1 x) ⊙ l2 x)."""

    def __init__(self, d, glu_dim):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(d, glu_dim), nn.Linear(d, glu_dim), nn.Linear(glu_dim, d)

    def forward(self, x):
        return self.l3(F.silu(self.l1(x)) * self.l2(x))


class TnnLayer(nn.Module):
    """x + token_mixer(token_norm(x)), then x + feature_mixer(feature_norm(x))."""

    def __init__(self, s, formulation):
        super().__init__()
        self.token_mixer, self.token_norm = Gtu(s, formulation), nn.LayerNorm(s["d_model"])
        self.feature_mixer, self.feature_norm = Glu(s["d_model"], s["glu_dim"]), nn.LayerNorm(s["d_model"])

    def forward(self, x):
        x = x + self.token_mixer(self.token_norm(x))
        return x + self.feature_mixer(self.feature_norm(x))


class FnetLayer(nn.Module):
    """mixing_norm(x + Re FFT FFT x), then output_norm(x + proj2(gelu(proj1 x)))."""

    def __init__(self, s, formulation):
        super().__init__()
        d = s["d_model"]
        self.mixing_norm, self.output_norm = nn.LayerNorm(d, eps=1e-12), nn.LayerNorm(d, eps=1e-12)
        self.proj1, self.proj2 = nn.Linear(d, s["d_ffn"]), nn.Linear(s["d_ffn"], d)
        self.formulation = formulation

    def mix(self, x):
        if self.formulation == "fft2":
            return torch.fft.fft2(x.float()).real.to(x.dtype)
        return torch.fft.fft(torch.fft.fft(x.float(), dim=-1), dim=-2).real.to(x.dtype)

    def forward(self, x):
        x = self.mixing_norm(x + self.mix(x))
        return self.output_norm(x + self.proj2(F.gelu(self.proj1(x), approximate="tanh")))


BLOCKS = {"gmlp": GmlpBlock, "tnn": TnnLayer, "fnet": FnetLayer}


def make_model(sizes, formulation):
    return nn.Sequential(*(BLOCKS[sizes["model"]](sizes, formulation) for _ in range(sizes["layers"])))


def input_shape(sizes, formulation):
    b, n = sizes["batch"], sizes["seq_len"]
    return (n, b, sizes["d_model"]) if formulation == "einsum-nbd" else (b, n, sizes["d_model"])


class Step:
    """A forward pass without gradients, or a training step: forward, mean(y²), backward and AdamW. The first two runs
    are not timed."""

    def __init__(self, sizes, mode, formulation, variant):
        torch.manual_seed(1)
        self.train, self.untimed = mode == "train", 2
        *precision, how = variant.split()
        self.autocast = "autocast" in precision
        dtype = torch.bfloat16 if "whole" in precision else torch.float32
        self.model = make_model(sizes, formulation).train(self.train).to(dtype)
        if "int8" in precision:
            self.model = torch.ao.quantization.quantize_dynamic(self.model, {nn.Linear}, dtype=torch.qint8)
        self.x = torch.randn(input_shape(sizes, formulation)).to(dtype)
        self.resident_before = peak_resident()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True) if self.train else None
        if how != "eager":
            from torch._inductor import config
            config.freezing = how == "frozen"
            self.model = torch.compile(self.model)

    def forward(self):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.autocast):
            return self.model(self.x)

    def step(self):
        if not self.train:
            with torch.no_grad():
                return self.forward()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward().float().square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def warm(self):
        while self.untimed > 0:
            self.step()
            self.untimed -= 1
        return "warm"

    def run(self):
        self.warm()
        start = time.perf_counter()
        self.step()
        return time.perf_counter() - start

    def rate(self, seconds):
        """Returns the steps per second during this many seconds."""
        self.warm()
        start, steps = time.perf_counter(), 0
        while time.perf_counter() < start + seconds:
            self.step()
            steps += 1
        return steps / (time.perf_counter() - start)

    def ran(self, sampler):
        """Runs steps for 0.2 s, but at least one, and returns samples of their vector instructions."""
        self.warm()
        return sampler.sample(self.step, 0.2)

    def report(self):
        return {"version": f"PyTorch {torch.__version__}", "peak_bytes": peak_resident() - self.resident_before}


def peak_resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))


def fastest_formulation(sizes, mode, variant):
    """Returns {formulation: median seconds of one block}, the fastest first."""
    times, runs = {}, 3 if mode == "train" else 15
    for formulation in formulations(sizes["model"], mode):
        step = Step({**sizes, "layers": 1}, mode, formulation, variant)
        times[formulation] = statistics.median(step.run() for _ in range(runs))
    return dict(sorted(times.items(), key=lambda item: item[1]))


def compare(sizes, formulation, path):
    """Loads weft's parameters and input. Returns the relative L2 difference of the result, and the largest one of a
    gradient."""
    from safetensors.torch import load_file
    saved = load_file(path)
    model = make_model(sizes, formulation)
    model.load_state_dict({k[len("parameters."):]: v for k, v in saved.items() if k.startswith("parameters.")})
    batch_second = sizes["model"] == "gmlp" and formulation != "einsum-nbd"  # weft's gmlp uses (n, b, d)
    x, expected = (saved[k].transpose(0, 1).contiguous() if batch_second else saved[k] for k in ("x", "y"))
    with torch.no_grad():
        y = model(x)
        y = model(x) if formulation.endswith("kept") else y
    differences = {"result": relative(y, expected)}
    if any(k.startswith("gradients.") for k in saved):
        model(x).square().mean().backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        worst = max((relative(saved["gradients." + name], g), name) for name, g in gradients.items())
        ours, theirs = (sum(g.double().square().sum().item() for g in group) ** 0.5
                        for group in ([saved["gradients." + name] for name in gradients], gradients.values()))
        differences.update({"gradient": worst[0], "of": worst[1], "norm": abs(ours - theirs) / theirs})
    return differences


def relative(a, b):
    return ((a - b).double().norm() / b.double().norm()).item()


def prepare(spec):
    warnings.filterwarnings("ignore", message="torch.*quantiz")
    warnings.filterwarnings("ignore", message="Torchinductor does not support code generation for complex")
    torch.set_num_threads(spec["threads"])
    torch.set_num_interop_threads(1)
    if spec["engine"]:
        torch.backends.quantized.engine = spec["engine"]
    tiny = {**spec, "batch": 1, "seq_len": 16, "d_model": 16, "d_ffn": 32, "layers": 1}
    # This loads the libraries, so that later measurements do not include the loading.
    Step(tiny, spec["mode"], spec["formulation"] or FORMULATIONS[spec["model"]][0], "eager").run()


def answers(spec):
    """Returns the functions that answer the requests. The first request that needs the step makes it."""
    step = functools.cache(lambda: Step(spec, spec["mode"], spec["formulation"], spec["variant"]))
    return {"formulations": lambda: fastest_formulation(spec, spec["mode"], spec["variant"]),
            "compare": lambda path: {f: compare(spec, f, path) for f in formulations(spec["model"], spec["mode"])},
            "warm": lambda: step().warm(), "run": lambda: step().run(), "report": lambda: step().report(),
            "ran": lambda: step().ran(Sampler(spec["sampler"]))}


if __name__ == "__main__":
    given = {**DEFAULTS, **json.loads(sys.argv[1])}
    prepare(given)
    if given["seconds"] is not None:
        print(Step(given, given["mode"], given["formulation"], given["variant"]).rate(given["seconds"]))
    else:
        serve(answers(given))
