"""FNet (models/fnet): Mixing Tokens with Fourier Transforms, arXiv 2105.03824."""

from __future__ import annotations

import math

import numpy as np

from ._checks import ROW_TASKS, choice
from ._graph import Graph


def logits(g: Graph) -> str:
    """The logits of an FNet."""
    config = g.config
    head = choice("head", config["head"], ["task", "pooler", "next-sentence", "last", "mean"])
    x = encoder(g)
    if g.task == "masked-lm":  # the graph leaves out the heads that do not predict words
        g.ignore("pooler.")
        g.ignore("next_sentence.")
        return words(g, x)
    if g.task not in ROW_TASKS:
        return g.linear("classifier", x)
    if g.has("pooler.dense.weight"):
        x = g.add("Tanh", g.linear("pooler.dense", g.add("Gather", x, g.constant(0, np.int64), axis=1)))
    elif head == "last":
        x = g.add("Gather", x, g.constant(-1, np.int64), axis=1)
    else:
        x = g.mean_of_tokens(x)
    return g.in_unit(g.linear("classifier", x)) if g.has("classifier.weight") else x


def words(g: Graph, x: str) -> str:
    """The logits of the words: decoder(norm(act(transform(x)))) + bias."""
    h = g.activation(g.config["activation"], g.linear("head.transform", x))
    h = g.layer_norm("head.norm", h, g.config["eps"])
    decoder = "encoder.embeddings.word.weight" if g.config["tied"] else "head.decoder.weight"
    return g.plus(g.transposed_product(h, decoder), g.parameter("head.bias"))


def encoder(g: Graph) -> str:
    """The output of the embeddings and the layers, (b, n, d_model)."""
    config = g.config
    x = embeddings(g)
    for k in range(config["layers"]):
        x = layer(g, f"encoder.layers.{k}", x)
    return g.layer_norm("encoder.norm", x, config["eps"]) if config["norm"] == "pre" else x


def embeddings(g: Graph) -> str:
    """The embeddings, (b, n, d_model).

    bert: projection(norm(word + position + type)); sinusoidal: √d_model · word + position; plain: √d_model · word.
    """
    kind = choice("embeddings", g.config["embeddings"], ["bert", "sinusoidal", "plain"])
    if g.frames.get("positions", "architecture") != "architecture":
        kind = "plain"
    name = "encoder.embeddings"
    x = g.embedded("encoder.", name + ".word.weight", scaled=kind != "bert")
    if kind == "plain":
        return x
    if kind == "sinusoidal":
        return g.plus(x, g.sinusoids())
    places = g.add("Gather", g.parameter(name + ".position.weight"), g.positions())
    types = g.add("Gather", g.parameter(name + ".type.weight"), token_types(g))
    x = g.layer_norm(name + ".norm", g.plus(x, g.plus(places, types)), g.config["eps"])
    return g.linear(name + ".projection", x)


def token_types(g: Graph) -> str:
    """The types of the tokens. In a row with two separators, the type is 1 after the first one, up to and including the
    second one. All other tokens have type 0."""
    if g.config["separator"] < 0 or not g.reads_tokens:
        return g.ints(0)
    is_end = g.cast(g.add("Equal", "tokens", g.constant(g.config["separator"], np.int64)), np.int64)
    before = g.add("CumSum", is_end, g.constant(1, np.int64), exclusive=1)  # separators before the token
    is_second = g.add("Equal", before, g.constant(1, np.int64))
    has_second = g.add("Greater", g.add("ReduceSum", is_end, g.ints(1)), g.constant(1, np.int64))
    return g.cast(g.add("And", is_second, has_second), np.int64)


def layer(g: Graph, name: str, x: str) -> str:
    """An encoder layer with its norms after the sums (post), or before the mixing and the network (pre)."""
    eps, place = g.config["eps"], choice("norm", g.config["norm"], ["post", "pre"])

    def ffn(v: str) -> str:
        return g.linear(name + ".proj2", g.activation(g.config["activation"], g.linear(name + ".proj1", v)))

    if place == "post":
        x = g.layer_norm(name + ".mixing_norm", g.plus(x, fourier_mix(g, x)), eps)
        return g.layer_norm(name + ".output_norm", g.plus(x, ffn(x)), eps)
    x = g.plus(x, fourier_mix(g, g.layer_norm(name + ".mixing_norm", x, eps)))
    return g.plus(x, ffn(g.layer_norm(name + ".output_norm", x, eps)))


def fourier_mix(g: Graph, x: str) -> str:
    """The real part of the Fourier transform along the channels and the sequence, or along the channels, columns and
    rows of a picture.

    It is computed as products with matrices of cosines and sines, because the errors of onnxruntime's DFT are 1e-4 for
    lengths that are not powers of 2."""
    cosine, sine = g.once("channels", lambda: fourier_constants(g, g.d_model))
    real, imaginary = g.add("MatMul", x, cosine), g.add("Neg", g.add("MatMul", x, sine))
    if choice("mixing", g.config["mixing"], ["sequence", "picture"]) == "sequence":
        return real_transform(g, real, imaginary, g.once("sequence", lambda: fourier_matrices(g)))
    return mix_picture(g, real, imaginary)


def mix_picture(g: Graph, real: str, imaginary: str) -> str:
    """The real part of the Fourier transform along the columns and the rows of patches, (b, n, d_model)."""
    rows, columns = g.grid()
    real, imaginary = (g.add("Reshape", x, g.ints(-1, rows, columns, g.d_model)) for x in (real, imaginary))
    matrices = g.once("columns", lambda: fourier_constants(g, columns))
    lines = (real_transform(g, real, imaginary, matrices),
             real_transform(g, imaginary, g.add("Neg", real), matrices))  # the imaginary part
    mixed = real_transform(g, *map(g.swap, lines), g.once("rows", lambda: fourier_constants(g, rows)))
    return g.add("Reshape", g.swap(mixed), g.ints(-1, rows * columns, g.d_model))


def real_transform(g: Graph, real: str, imaginary: str, matrices: tuple[str, str]) -> str:
    """The real part of the transform along the second-to-last axis: C · real + S · imaginary."""
    cosine, sine = matrices
    return g.plus(g.add("MatMul", cosine, real), g.add("MatMul", sine, imaginary))


def fourier_constants(g: Graph, n: int) -> tuple[str, str]:
    """cos(2π jk/n) and sin(2π jk/n), (n, n)."""
    turns = np.outer(np.arange(n), np.arange(n)) % n * (2 * math.pi / n)
    return g.constant(np.cos(turns)), g.constant(np.sin(turns))


def fourier_matrices(g: Graph) -> tuple[str, str]:
    """cos(2π jk/n) and sin(2π jk/n), (n, n), for the length n of the sequence. The graph computes them in f64."""
    k, n = g.positions(), g.length()
    products = g.add("Mul", g.add("Unsqueeze", k, g.ints(1)), k)
    turns = g.times(g.cast(g.add("Mod", products, n), np.float64), 2 * math.pi, np.float64)
    turns = g.add("Div", turns, g.cast(n, np.float64))
    return g.cast(g.add("Cos", turns), np.float32), g.cast(g.add("Sin", turns), np.float32)
