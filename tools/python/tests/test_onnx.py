"""ONNX files beside the models that they were made from."""

import numpy as np
import pytest

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import weft
import weft.onnx

TEXTS = ["red apple", "green pear", "red cherry", "yellow banana", "green lime", "yellow lemon and more words"] * 5
LABELS = ["red", "green", "red", "yellow", "green", "yellow"] * 5
FIXTURES = ["gmlp-causal-lm", "gmlp-masked-lm", "gmlp-tied", "gmlp-classifier", "tnn-causal-lm", "tnn-masked-lm",
            "tnn-classifier", "tnn-options", "fnet-masked-lm", "fnet-classifier"]


def check(folder, path):
    """Both give the same logits for every length, with padding, in one row and in several."""
    model = weft.load(folder)
    weft.onnx.export(folder, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    longest = model.max_length or 37
    for n in sorted({1, 2, 3, 5, 7, longest - 1, longest} & set(range(1, longest + 1))):
        for b in (1, 3):
            tokens = np.random.default_rng(n).integers(1, model.vocabulary, (b, n))
            tokens[0, (n + 1) // 2:] = 0
            want, got = model(tokens), session.run(["logits"], {"tokens": tokens})[0]
            assert got.shape == want.shape and np.abs(got - want).max() <= 1e-5 * max(1, np.abs(want).max()), (n, b)


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures(fixtures, name, tmp_path):
    check(fixtures / name, tmp_path / "model.onnx")


def trained(folder, labels=LABELS, **settings):
    weft.train(TEXTS, labels, out=folder, **{"layers": 2, "d_model": 12, "length": 11, "steps": 20, "batch": 8,
                                             "lr": 1e-2, "progress": False, **settings})
    return folder


@pytest.mark.parametrize(("arch", "config"), [
    ("gmlp", {"positions": False}), ("gmlp", {"layers": 0}),
    ("fnet", {"norm": "pre", "head": "mean", "activation": "relu"}), ("fnet", {"head": "last", "embeddings": "sinusoidal"}),
    ("fnet", {"embeddings": "plain", "activation": "silu"}), ("fnet", {"separator": 3}),
    ("tnn", {"heads": 2, "expand_ratio": 2.0, "use_norm": True, "prenorm": False}),
    ("tnn", {"norm_type": "simplermsnorm", "final_norm": "layernorm", "par_type": 2, "act_type": "1+elu", "rpe_act": "gelu"}),
    ("tnn", {"use_decay": False, "use_multi_decay": True, "gamma": 0.9, "rpe_residual": True}),
    ("tnn", {"normalize": True, "act_type": "exp", "bias": False, "act": "leaky_relu", "glu_act": "tanh"}),
], ids=str)
def test_options(arch, config, tmp_path):
    check(trained(tmp_path / "run", arch=arch, config=config), tmp_path / "model.onnx")


@pytest.mark.parametrize("arch", ["gmlp", "fnet", "tnn"])
def test_tasks(arch, tmp_path):
    check(trained(tmp_path / "numbers", [[1.0, 200.0], [3.0, -50.0]] * 15, arch=arch), tmp_path / "numbers.onnx")
    check(trained(tmp_path / "labels", [["a"], ["a", "b"]] * 15, arch=arch), tmp_path / "labels.onnx")
    tags = [" ".join("x" * (k % 2 + 1) for k, _ in enumerate(text.split())) for text in TEXTS]
    check(trained(tmp_path / "tags", tags, arch=arch, task="tagging"), tmp_path / "tags.onnx")



def test_refused(tmp_path):
    vectors = trained(tmp_path / "vectors", ["a red one"] * 15 + ["a green one"] * 15, task="retrieval", dimensions=4)
    with pytest.raises(weft.Error, match="got tnn retrieval"):
        weft.onnx.export(vectors, tmp_path / "model.onnx")
    x = np.random.default_rng(0).normal(size=(30, 5))
    weft.train(x, LABELS, arch="gmlp", steps=2, out=tmp_path / "numbers", progress=False)
    with pytest.raises(weft.Error, match="reads numbers"):
        weft.onnx.export(tmp_path / "numbers", tmp_path / "model.onnx")
    with pytest.raises(weft.Error, match="can't open"):
        weft.onnx.export(tmp_path / "nothing", tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()
