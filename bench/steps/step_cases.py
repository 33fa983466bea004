"""The cases of bench/steps/step_compare: models, sizes and goals."""
from dataclasses import dataclass, replace

SIZES = {"gmlp": {"batch": 8, "seq_len": 512, "d_model": 512, "layers": 6, "d_ffn": 2048},
         "tnn": {"batch": 8, "seq_len": 512, "d_model": 512, "layers": 7, "glu_dim": 512, "expand_ratio": 3,
                 "rpe_dim": 32, "rpe_layers": 3},
         "fnet": {"batch": 8, "seq_len": 512, "d_model": 768, "layers": 12, "d_ffn": 3072}}
# Sizes of models that users train themselves, for --sizes small.
OWN = {"gmlp": {"batch": 12, "seq_len": 64, "d_model": 128, "layers": 4, "d_ffn": 512},
       "tnn": {"batch": 12, "seq_len": 64, "d_model": 128, "layers": 4, "glu_dim": 128, "expand_ratio": 3,
               "rpe_dim": 32, "rpe_layers": 3},
       "fnet": {"batch": 12, "seq_len": 64, "d_model": 128, "layers": 4, "d_ffn": 512}}
# Sizes for --verify: odd and even sizes, a length that the transforms pad, and a length that is not a power of two.
SMALL = {"gmlp": {"batch": 3, "seq_len": 45, "d_model": 40, "layers": 2, "d_ffn": 72},
         "tnn": {"batch": 3, "seq_len": 200, "d_model": 24, "layers": 2, "glu_dim": 40, "expand_ratio": 3,
                 "rpe_dim": 16, "rpe_layers": 2},
         "fnet": {"batch": 3, "seq_len": 45, "d_model": 40, "layers": 2, "d_ffn": 72}}


@dataclass(frozen=True, kw_only=True)
class Limits:
    fraction: float | None = None     # share of the machine's peak for products
    speed: float | None = None        # relative to PyTorch's fastest variant
    memory: float | None = None       # at most this share of the memory of the first of PyTorch's VARIANTS
    gemm_only: bool = False           # whether the fraction counts only dense products
    over_wider: float | None = None   # speed relative to weft's next wider precision
    activations: float | None = None  # at most this share of the wider precision's activation memory
    whole: float | None = None        # at most this share of the wider precision's whole memory
    beyond: float | None = None       # at most this share of eager's time without products at the peak


@dataclass(frozen=True)
class Case:
    model: str
    mode: str
    limits: Limits
    precision: str = "f32"
    size: str = "full"  # "short": the training step of 2 sequences and 3 layers; "small": a model of 4 layers of 128

    def __str__(self):
        return f"{self.model} {self.mode}" + ("" if self.precision == "f32" else f" {self.precision}")

    def sizes(self):
        """Returns the sizes. Inference uses one sequence of 128 tokens, or of 64 tokens for a small model."""
        if self.size == "small":
            return {**OWN[self.model], **({} if self.mode == "train" else {"batch": 1})}
        trained = {"batch": 2, "layers": 3} if self.size == "short" else {}
        return {**SIZES[self.model], **(trained if self.mode == "train" else {"batch": 1, "seq_len": 128})}

    def threads(self, most):
        return most if self.mode == "train" else 1

    def label(self):
        s = self.sizes()
        return f"{self} {s['batch']}x{s['seq_len']}x{s['d_model']}, {s['layers']} layers"


# Limits of the models of --sizes small.
OWN_LIMITS = {"train": Limits(fraction=0.65, speed=2.0), "forward": Limits(beyond=0.2)}

CASES = [
    Case("gmlp", "train", Limits(fraction=0.75, speed=1.3, memory=0.6)),
    Case("tnn", "train", Limits(fraction=0.55, speed=1.8, memory=0.6, gemm_only=True)),
    Case("fnet", "train", Limits(fraction=0.72, speed=1.3, memory=0.6)),
    Case("gmlp", "forward", Limits(fraction=0.70, speed=1.1)),
    Case("tnn", "forward", Limits(fraction=0.55, speed=1.1, gemm_only=True)),
    Case("fnet", "forward", Limits(fraction=0.70, speed=1.1)),
    Case("gmlp", "train", Limits(speed=1.15, memory=1, over_wider=1.45, activations=0.55, whole=0.7), "bf16"),
    Case("tnn", "train", Limits(speed=2.5, memory=1, gemm_only=True, over_wider=1.35, activations=0.55), "bf16"),
    Case("fnet", "train", Limits(speed=1.0, memory=1, over_wider=1.5, activations=0.55, whole=0.85), "bf16"),
    Case("gmlp", "forward", Limits(speed=1.0), "bf16"),
    Case("tnn", "forward", Limits(speed=1.1, gemm_only=True), "bf16"),
    Case("fnet", "forward", Limits(speed=1.1), "bf16"),
    Case("gmlp", "forward", Limits(speed=1.0, over_wider=1.3), "int8"),
    Case("tnn", "forward", Limits(speed=1.0, gemm_only=True, over_wider=1.3), "int8"),
    Case("fnet", "forward", Limits(speed=1.0, over_wider=1.3), "int8"),
]


def cases(size):
    """Returns the cases of --sizes. Short training steps have no goals. Small models run only in f32."""
    chosen = [replace(case, size=size) for case in CASES]
    if size == "short":
        return [replace(case, limits=Limits(gemm_only=case.limits.gemm_only)) for case in chosen]
    if size == "small":
        return [replace(case, limits=OWN_LIMITS[case.mode]) for case in chosen if case.precision == "f32"]
    return chosen


WIDER = {"bf16": "f32", "int8": "bf16"}

# PyTorch's variants of a case. frozen: compiled with packed weights. autocast: products in bf16, parameters in f32.
# whole: the model and the input in bf16, but the transforms in f32, because PyTorch has none in bf16. int8: products by
# torch.ao.quantization.quantize_dynamic, everything else in f32.
VARIANTS = {("f32", "train"): ("eager", "compiled"), ("f32", "forward"): ("eager", "compiled", "frozen"),
            ("bf16", "train"): ("autocast eager", "autocast compiled", "whole eager", "whole compiled"),
            ("bf16", "forward"): ("autocast eager", "autocast compiled", "whole eager", "whole compiled",
                                  "whole frozen"),
            ("int8", "forward"): ("int8 eager",)}

START_GOAL = 20  # milliseconds
START_ARCHITECTURES = ("gmlp", "tnn")


def flags(model, mode, precision, threads, sizes):
    """Returns the flags of weft-step-bench."""
    named = {"model": model, "mode": mode, "precision": precision, "threads": threads,
             **{k.replace("_", "-"): v for k, v in sizes.items()}}
    return [part for name, value in named.items() for part in (f"--{name}", str(value))]
