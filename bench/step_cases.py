"""The cases of bench/step_compare: models, sizes and goals."""
from dataclasses import dataclass

SIZES = {"gmlp": {"batch": 8, "seq_len": 512, "d_model": 512, "layers": 6, "d_ffn": 2048},
         "tnn": {"batch": 8, "seq_len": 512, "d_model": 512, "layers": 7, "glu_dim": 512, "expand_ratio": 3,
                 "rpe_dim": 32, "rpe_layers": 3},
         "fnet": {"batch": 8, "seq_len": 512, "d_model": 768, "layers": 12, "d_ffn": 3072}}
# Odd and even, a length that the transforms pad and one that isn't a power of two.
SMALL = {"gmlp": {"batch": 3, "seq_len": 45, "d_model": 40, "layers": 2, "d_ffn": 72},
         "tnn": {"batch": 3, "seq_len": 200, "d_model": 24, "layers": 2, "glu_dim": 40, "expand_ratio": 3, "rpe_dim": 16,
                 "rpe_layers": 2},
         "fnet": {"batch": 3, "seq_len": 45, "d_model": 40, "layers": 2, "d_ffn": 72}}


@dataclass(frozen=True)
class Goals:
    fraction: float  # of the FMA peak
    speed: float     # over the faster of PyTorch eager and compiled
    memory: float | None = None  # at most this part of PyTorch eager's
    gemm_only: bool = False      # the fraction counts dense products alone


@dataclass(frozen=True)
class Case:
    model: str
    mode: str
    goals: Goals

    @property
    def name(self):
        return f"{self.model} {self.mode}"

    def sizes(self):
        """Inference is of one sequence of 128."""
        return {**SIZES[self.model], **({} if self.mode == "train" else {"batch": 1, "seq_len": 128})}

    def threads(self, most):
        return most if self.mode == "train" else 1

    def label(self):
        s = self.sizes()
        return f"{self.name} {s['batch']}x{s['seq_len']}x{s['d_model']}, {s['layers']} layers"


CASES = [Case("gmlp", "train", Goals(0.75, 1.3, 0.6)), Case("tnn", "train", Goals(0.55, 1.8, 0.6, gemm_only=True)),
         Case("fnet", "train", Goals(0.72, 1.3, 0.6)), Case("gmlp", "forward", Goals(0.70, 1.1)),
         Case("tnn", "forward", Goals(0.55, 1.1, gemm_only=True)), Case("fnet", "forward", Goals(0.70, 1.1))]

START_GOAL = 0.020  # seconds
START_ARCHITECTURES = ("gmlp", "tnn")


def flags(model, mode, threads, sizes):
    """weft-step-bench's."""
    named = {"model": model, "mode": mode, "threads": threads, **{k.replace("_", "-"): v for k, v in sizes.items()}}
    return [part for name, value in named.items() for part in (f"--{name}", str(value))]
