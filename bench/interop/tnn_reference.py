"""Implements TNN by the formulas of its paper (arXiv 2305.04749), with the names and options of OpenNLPLab's fairseq
and tnn-pytorch.

Neither program can be installed: the fairseq version needs its own build, and tnn-pytorch's package on PyPI has no
Python file. Here Toeplitz matrices are explicit, whereas the original programs use FFTs."""
import math

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"none": lambda x: x, "gelu": F.gelu, "relu": F.relu, "elu": F.elu, "sigmoid": torch.sigmoid,
               "exp": torch.exp, "leak": F.leaky_relu, "1+elu": lambda x: 1 + F.elu(x), "2+elu": lambda x: 2 + F.elu(x),
               "silu": F.silu}


class SimpleRmsNorm(nn.Module):
    def forward(self, x):
        return x / (x.norm(dim=-1, keepdim=True) / math.sqrt(x.shape[-1]) + 1e-8)


class Act(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.f = ACTIVATIONS[name]

    def forward(self, x):
        return self.f(x)


def norm_of(kind, d):
    return SimpleRmsNorm() if kind == "simplermsnorm" else nn.LayerNorm(d)


class Rpe(nn.Module):
    def __init__(self, out, a):
        super().__init__()
        part = lambda size: nn.Sequential(norm_of(a["norm_type"], a["rpe_embedding"]), Act(a["rpe_act"]),
                                          nn.Linear(a["rpe_embedding"], size, bias=a["bias"]))
        self.pos_proj = nn.Linear(1, a["rpe_embedding"], bias=a["bias"])
        self.layers = nn.ModuleList(part(a["rpe_embedding"]) for _ in range(a["rpe_layers"]))
        self.out = part(out)
        self.residual = a["residual"]

    def forward(self, x):
        x = self.pos_proj(x)
        for layer in self.layers:
            x = layer(x) + x if self.residual else layer(x)
        return self.out(x)


class Tno(nn.Module):
    def __init__(self, h, dim, a):
        super().__init__()
        self.h, self.a = h, a
        if a["use_decay"]:
            self.gamma = nn.Parameter(torch.full((h, 1, dim), a["gamma"]), requires_grad=False)
        if a["use_multi_decay"]:
            self.gamma = nn.Parameter(torch.randn(h, 1, dim))
        self.rpe = Rpe(h * dim, a)

    def coefficients(self, lags, n):
        """Returns the coefficients t (h, m, dim) for m lags."""
        place = {1: lags, 2: lags / max(n - 1, 1), 3: torch.exp(lags / max(n - 1, 1))}[self.a["par_type"]]
        t = self.rpe(place[:, None]).unflatten(-1, (self.h, -1)).transpose(0, 1)
        if self.a["use_decay"] or self.a["use_multi_decay"]:
            gamma = self.gamma
            if self.a["use_multi_decay"]:
                gamma = self.a["gamma"] + (1 - self.a["gamma"]) * torch.sigmoid(gamma)
            t = t * gamma ** lags.abs()[:, None]
        return ACTIVATIONS[self.a["act_type"]](t)

    def forward(self, v):
        n = v.shape[2]
        i = torch.arange(n, dtype=v.dtype)
        t = self.coefficients(torch.arange(1 - n, n, dtype=v.dtype), n)
        matrix = t[:, (i[:, None] - i[None, :]).long() + n - 1]  # (h, n, n, dim)
        if self.a["causal"]:
            matrix = matrix * (i[:, None] >= i[None, :])[None, :, :, None]
        y = torch.einsum("hijd,bhjd->bhid", matrix, v)
        return y / matrix.sum(2) if self.a["normalize"] else y


class Gtu(nn.Module):
    def __init__(self, d, h, a):
        super().__init__()
        d1 = int(a["expand_ratio"] * d) // h * h
        self.h, self.act = h, ACTIVATIONS[a["act_fun"]]
        self.v_proj, self.u_proj = nn.Linear(d, d1, bias=a["bias"]), nn.Linear(d, d1, bias=a["bias"])
        self.o = nn.Linear(d1, d, bias=a["bias"])
        self.toep = Tno(h, d1 // h, a)
        if a["use_norm"]:
            self.norm = norm_of(a["norm_type"], d1)

    def forward(self, x):
        v = self.act(self.v_proj(x)).unflatten(-1, (self.h, -1)).transpose(1, 2)
        y = self.act(self.u_proj(x)) * self.toep(v).transpose(1, 2).flatten(2)
        return self.o(self.norm(y) if hasattr(self, "norm") else y)


class Glu(nn.Module):
    def __init__(self, d, a):
        super().__init__()
        inner = d if a["glu_dim"] == -1 else a["glu_dim"]
        self.l1, self.l2 = nn.Linear(d, inner, bias=a["bias"]), nn.Linear(d, inner, bias=a["bias"])
        self.l3 = nn.Linear(inner, d, bias=a["bias"])
        self.act = ACTIVATIONS[a["glu_act"]]

    def forward(self, x):
        return self.l3(self.act(self.l1(x)) * self.l2(x))


class FairseqLayer(nn.Module):
    def __init__(self, d, a):
        super().__init__()
        self.self_attn = nn.Module()
        self.self_attn.gtu = Gtu(d, a["decoder_attention_heads"], a)
        self.self_attn_layer_norm, self.final_layer_norm = norm_of(a["norm_type"], d), norm_of(a["norm_type"], d)
        self.glu = Glu(d, a)

    def forward(self, x):
        x = x + self.self_attn.gtu(self.self_attn_layer_norm(x))
        return x + self.glu(self.final_layer_norm(x))


class FairseqLanguageModel(nn.Module):
    """Its constructor takes a dictionary with the arguments of fairseq's Namespace."""

    def __init__(self, vocabulary, a):
        super().__init__()
        self.d = d = a["decoder_embed_dim"]
        self.decoder = nn.Module()
        self.decoder.embed_tokens = nn.Embedding(vocabulary, d)
        self.decoder.layers = nn.ModuleList(FairseqLayer(d, a) for _ in range(a["decoder_layers"]))
        self.decoder.layer_norm = nn.LayerNorm(d)
        self.decoder.output_projection = nn.Linear(d, vocabulary, bias=False)
        if a["share_decoder_input_output_embed"]:
            self.decoder.output_projection.weight = self.decoder.embed_tokens.weight
        self.decoder.register_buffer("version", torch.Tensor([3]))

    def forward(self, ids):
        x = math.sqrt(self.d) * self.decoder.embed_tokens(ids)
        for layer in self.decoder.layers:
            x = layer(x)
        return self.decoder.output_projection(self.decoder.layer_norm(x))


class TnnLayer(nn.Module):
    def __init__(self, d, a):
        super().__init__()
        self.prenorm = a["prenorm"]
        self.token_mixer, self.feature_mixer = Gtu(d, a["num_heads"], {**a, "act_fun": a["gtu_act"]}), Glu(d, a)
        self.token_norm, self.feature_norm = norm_of(a["norm_type"], d), norm_of(a["norm_type"], d)

    def forward(self, x):
        for mixer, norm in ((self.token_mixer, self.token_norm), (self.feature_mixer, self.feature_norm)):
            x = x + (mixer(norm(x)) if self.prenorm else norm(mixer(x)))
        return x


class TnnModel(nn.Module):
    """TnnLayers between weft's embedding and weft's head. With `classes`, it is a classifier whose padding id is 0."""

    def __init__(self, vocabulary, layers, a, final_norm="layernorm", tied=True, classes=0):
        super().__init__()
        self.d, self.classes = a["dim"], classes
        self.embedding = nn.Embedding(vocabulary, self.d)
        self.layers = nn.ModuleList(TnnLayer(self.d, a) for _ in range(layers))
        self.norm = norm_of(final_norm, self.d)
        if classes or not tied:
            self.head = nn.Linear(self.d, classes or vocabulary, bias=classes > 0)

    def forward(self, ids):
        x = math.sqrt(self.d) * self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        if self.classes:
            there = (ids != 0).to(x.dtype)
            x = (x * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        x = self.norm(x)
        return self.head(x) if hasattr(self, "head") else x @ self.embedding.weight.T
