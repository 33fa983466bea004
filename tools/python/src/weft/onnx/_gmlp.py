"""gMLP (models/gmlp): Pay Attention to MLPs, arXiv 2105.08050."""

from __future__ import annotations

from ._checks import ROW_TASKS
from ._graph import Graph


def logits(g: Graph) -> str:
    """The logits of a gMLP."""
    config = g.config
    x = g.embedded("", "embedding.weight", scaled=True)
    if config["positions"] and g.frames.get("positions", "architecture") == "architecture":
        x = g.plus(x, g.sinusoids())
    for k in range(config["layers"]):
        x = block(g, f"blocks.{k}", x)
    if g.task in ROW_TASKS:
        x = g.mean_of_tokens(x)
    x = g.layer_norm("norm", x)
    return g.in_unit(g.transposed_product(x, "embedding.weight") if config["tied"] else g.linear("head", x))


def block(g: Graph, name: str, x: str) -> str:
    """x + proj2(sgu(gelu(proj1(norm(x)))))."""
    z = g.add("Gelu", g.linear(name + ".proj1", g.layer_norm(name + ".norm", x)))
    return g.plus(x, g.linear(name + ".proj2", spatial_gate(g, name + ".sgu", z)))


def spatial_gate(g: Graph, name: str, z: str) -> str:
    """z1_i ⊙ (Σ_j W[i,j] norm(z2)_j + b_i). In a causal language model, the sum is over j <= i."""
    half, end, n = g.config["d_ffn"] // 2, g.config["d_ffn"], g.length()
    z1, z2 = (g.slice(z, g.ints(first), g.ints(last), 2) for first, last in ((0, half), (half, end)))
    weight = g.add("Slice", g.parameter(name + ".weight"), g.ints(0, 0), g.add("Concat", n, n, axis=0), g.ints(0, 1))
    if g.task == "causal-lm":
        weight = g.add("Trilu", weight, upper=0)
    bias = g.add("Unsqueeze", g.slice(g.parameter(name + ".bias"), g.ints(0), n, 0), g.ints(1))
    mixed = g.plus(g.add("MatMul", weight, g.layer_norm(name + ".norm", z2)), bias)
    return g.add("Mul", z1, mixed)
