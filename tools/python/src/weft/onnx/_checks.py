"""Checks that the export supports a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _weft

ROW_TASKS = ("classifier", "regression", "multilabel", "forecast", "retrieval")  # one output for each row
TASKS = ("causal-lm", "masked-lm", "tagging", *ROW_TASKS)

# The options that the export supports. A value other than None is the value of the option in a config that omits it.
OPTIONS: dict[str, dict[str, Any]] = {
    "gmlp": dict.fromkeys("d_model d_ffn layers seq_len tied positions dropout".split()),
    "fnet": {**dict.fromkeys("d_model d_ffn layers seq_len types norm activation eps dropout".split()), "head": "task",
             "tied": True, "separator": -1, "mixing": "sequence", "embeddings": "bert"},
    "tnn": {**dict.fromkeys("d_model layers heads expand_ratio act use_norm rpe_dim rpe_layers rpe_residual rpe_act "
                            "glu_dim glu_act use_decay use_multi_decay gamma par_type act_type normalize norm_type "
                            "prenorm bias seq_len dropout".split()), "final_norm": "", "mixing": "sequence",
            "tied": True, "causal": False, "head": "mean", "time_scales": 0},
}
INPUT_OPTIONS = "channels height width patch positions length sound names mean deviation".split()


def not_supported(what: str, known: Iterable[Any] = ()) -> Exception:
    expected = ", ".join(map(str, known))
    return _weft.Error(f"[onnx] {what} not supported" + (f", expected one of {expected}" if expected else ""))


def checked_config(architecture: str, task: str, config: dict[str, Any]) -> dict[str, Any]:
    """The config with all options. Raises an Error if the export does not support a part of it."""
    if architecture not in OPTIONS:
        raise not_supported(f'architecture "{architecture}"', OPTIONS)
    if task not in TASKS:
        raise not_supported(f'task "{task}"', TASKS)
    options = OPTIONS[architecture]
    if unknown := sorted(config.keys() - options.keys()):
        raise not_supported(f'option "{unknown[0]}" of {architecture}')
    return {**options, **config}


def checked_input(given: dict[str, Any], reads_tokens: bool) -> dict[str, Any]:
    """The description of the frames with all keys; empty if the model reads no frames."""
    if given and reads_tokens:
        raise not_supported("a model that reads both tokens and frames")
    if unknown := sorted(given.keys() - set(INPUT_OPTIONS)):
        raise not_supported(f'option "{unknown[0]}" of the input')
    defaults = {"height": 0, "width": 0, "patch": 1, "positions": "architecture", "length": 0, "mean": []}
    return {**defaults, **given} if given else {}


def choice(option: str, value: Any, known: Sequence[Any]) -> Any:
    """The value of an option. Raises an Error if it is not one of the known values."""
    if value not in known:
        raise not_supported(f"{option} {json.dumps(value)}", known)
    return value
