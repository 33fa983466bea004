"""Saved models as ONNX graphs: their logits in onnxruntime are those of the models, and what is refused."""

import json

import numpy as np
import pytest

import weft

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
import weft.onnx  # noqa: E402
from weft.onnx import _checks  # noqa: E402

TEXTS = ["red apple", "green pear", "red cherry", "yellow banana tree", "green lime", "yellow lemon"] * 10
COLORS = ["red", "green", "red", "yellow", "green", "yellow"] * 10
FIXTURES = ["gmlp-causal-lm", "gmlp-tied", "gmlp-masked-lm", "gmlp-classifier", "fnet-masked-lm", "fnet-classifier",
            "tnn-causal-lm", "tnn-masked-lm", "tnn-classifier", "tnn-options", "runs/rows", "runs/text", "runs/masked"]


def edited(model, change):
    """The model of a checkpoint whose description and tensors change(description, tensors) has changed."""
    content = model._loaded.bytes
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    metadata = header.pop("__metadata__")
    description, tensors = json.loads(metadata["weft"]), {}
    for name, entry in header.items():
        first, last = (start + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(content[first:last], np.float32).reshape(entry["shape"]).copy()
    change(description, tensors)
    tensors = {name: np.asarray(values, values.dtype if values.dtype in (np.int8, np.uint16) else np.float32)
               for name, values in tensors.items()}
    made = checkpoint({**metadata, "weft": json.dumps(description)}, tensors)
    return weft.Model(weft._weft.Loaded.from_bytes(made, "f32"))


def checkpoint(metadata, tensors):
    """The bytes of a model.safetensors. Arrays of uint16 hold the bits of bf16 numbers."""
    header, offset, types = {"__metadata__": metadata}, 0, {np.dtype(np.int8): "I8", np.dtype(np.uint16): "BF16"}
    for name, values in tensors.items():
        end = offset + values.nbytes
        header[name] = {"dtype": types.get(values.dtype, "F32"), "shape": list(values.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(values.tobytes() for values in tensors.values())


def noisy(model):
    """The model with noise in every parameter, so that none is 0 or 1 as at the beginning of training."""
    def change(_, tensors):
        random = np.random.default_rng(0)
        for values in tensors.values():
            values += random.normal(0, 0.3, values.shape)
    return edited(model, change)


def session_of(model, path):
    weft.onnx.export(model, path)
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def check(model, path, exported=None, tolerance=1e-5):
    """Compares the logits at several lengths, for one row and for three, of which the last ends in padding."""
    session, random = session_of(model if exported is None else exported, path), np.random.default_rng(0)
    for n in (1, 2, 5, model.max_length or 70):
        for rows in (1, 3):
            tokens = random.integers(0, model.vocabulary, (rows, n))
            tokens[-1, max(1, n // 2):] = 0
            want, (got,) = model(tokens), session.run(["logits"], {"tokens": tokens})
            assert got.shape == want.shape and got.dtype == np.float32
            assert np.abs(got - want).max() <= tolerance * np.abs(want).max(), (n, rows)


def trained(arch, labels=COLORS, data=TEXTS, layers=2, config=None, **settings):
    return weft.train(data, labels, arch=arch, layers=layers, d_model=16, batch=8, lr=1e-2, steps=10, config=config,
                      progress=False, **settings).model


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures(fixtures, tmp_path, name):
    check(weft.load(fixtures / name, "f32"), tmp_path / "m.onnx", exported=fixtures / name)
    check(noisy(weft.load(fixtures / name)), tmp_path / "m.onnx", tolerance=2e-5)


@pytest.mark.parametrize("arch", ["gmlp", "fnet", "tnn"])
@pytest.mark.parametrize(("task", "labels"), [
    ("regression", [[1.0, 200.0] if "red" in text else [3.0, -50.0] for text in TEXTS]),
    ("multilabel", [["a"] if "red" in text else ["b", "c"] for text in TEXTS]),
    ("tagging", [["X" if "red" in text else "Y"] * len(text.split()) for text in TEXTS]),
    ("retrieval", COLORS),
])
def test_tasks(tmp_path, arch, task, labels):
    check(trained(arch, labels, task=task, length=8), tmp_path / "m.onnx")


@pytest.mark.parametrize(("arch", "layers", "config"), [
    ("gmlp", 2, {"positions": False}), ("gmlp", 1, {"d_ffn": 10}), ("gmlp", 0, {}),
    ("fnet", 2, {"norm": "pre"}), ("fnet", 1, {"head": "last"}), ("fnet", 0, {"head": "mean"}),
    ("fnet", 1, {"embeddings": "sinusoidal"}), ("fnet", 1, {"embeddings": "plain", "head": "mean"}),
    ("fnet", 1, {"separator": 4}), ("fnet", 1, {"separator": 4, "types": 2, "eps": 1e-3}),
    *(("fnet", 1, {"activation": name}) for name in ("none", "relu", "gelu", "silu", "elu", "1+elu", "2+elu", "sigmoid",
                                                     "tanh", "exp", "leaky_relu", "swish", "gelu_new")),
    ("tnn", 1, {"heads": 3}), ("tnn", 1, {"use_norm": True}), ("tnn", 1, {"par_type": 2}),
    ("tnn", 1, {"use_decay": False}), ("tnn", 1, {"gamma": 0.0}), ("tnn", 1, {"prenorm": False}),
    ("tnn", 1, {"use_decay": False, "use_multi_decay": True, "gamma": 0.5}),
    ("tnn", 1, {"use_decay": False, "use_multi_decay": True, "gamma": 0.0}),
    ("tnn", 1, {"use_decay": False, "use_multi_decay": True, "gamma": 0.0, "time_scales": 40, "causal": True}),
    ("tnn", 1, {"head": "last"}), ("tnn", 1, {"head": "last", "causal": True}),
    ("tnn", 1, {"norm_type": "simplermsnorm", "final_norm": "layernorm"}), ("tnn", 1, {"bias": False}),
    ("tnn", 1, {"normalize": True, "act_type": "exp", "par_type": 2, "gamma": 1.0}),
    ("tnn", 1, {"rpe_residual": True, "rpe_act": "silu"}), ("tnn", 1, {"rpe_layers": 0, "rpe_dim": 1}),
    ("tnn", 1, {"glu_dim": 24, "glu_act": "none", "act": "relu", "expand_ratio": 1.5}), ("tnn", 0, {}),
])
def test_options(tmp_path, arch, layers, config):
    model = trained(arch, layers=layers, config=config, length=8)
    check(model, tmp_path / "m.onnx")
    if "normalize" not in config:  # with such parameters it magnifies rounding
        check(noisy(model), tmp_path / "m.onnx", tolerance=2e-5)


def test_types_by_separators(tmp_path):
    model = noisy(trained("fnet", layers=1, config={"separator": 4}, length=8))
    session = session_of(model, tmp_path / "m.onnx")
    for row in ([1, 4, 2, 4, 3, 0], [4, 4, 1, 1, 4, 2], [1, 2, 4, 3, 3, 3], [4, 1, 1, 1, 1, 4], [1, 2, 3, 3, 2, 1]):
        tokens = np.array([row])
        np.testing.assert_allclose(session.run(None, {"tokens": tokens})[0], model(tokens), rtol=0, atol=2e-5)


def with_own_decoder(fixture, table, decoder):
    """The language model with a decoder of its own instead of the embedding's weight."""
    def change(description, tensors):
        description["config"]["tied"] = False
        tensors[decoder] = tensors[table][::-1].copy()
    return edited(weft.load(fixture), change)


def test_own_decoders(fixtures, tmp_path):
    check(with_own_decoder(fixtures / "tnn-masked-lm", "embedding.weight", "head.weight"), tmp_path / "m.onnx")
    check(with_own_decoder(fixtures / "fnet-masked-lm", "encoder.embeddings.word.weight", "head.decoder.weight"),
          tmp_path / "m.onnx")


@pytest.mark.parametrize("head", ["pooler", "next-sentence"])
def test_a_language_models_other_heads_are_left_out(fixtures, tmp_path, head):
    def change(description, tensors):
        description["config"]["head"] = head
        tensors.update({"pooler.dense.weight": np.eye(8), "pooler.dense.bias": np.ones(8)})
        if head == "next-sentence":
            tensors.update({"next_sentence.weight": np.ones((2, 8)), "next_sentence.bias": np.ones(2)})
    check(edited(weft.load(fixtures / "fnet-masked-lm"), change), tmp_path / "m.onnx")


def test_a_classifier_that_is_a_pooler(fixtures, tmp_path):
    def change(description, tensors):
        description["config"]["head"], description["classes"] = "pooler", 8
        description.pop("labels", None)
        del tensors["classifier.weight"], tensors["classifier.bias"]
    check(edited(weft.load(fixtures / "fnet-classifier"), change), tmp_path / "m.onnx")


def test_any_length(fixtures, tmp_path):
    for name, n in (("tnn-masked-lm", 1000), ("tnn-causal-lm", 2049)):
        model, tokens = weft.load(fixtures / name), np.arange(n)[None] % 13
        got = session_of(model, tmp_path / "m.onnx").run(None, {"tokens": tokens})[0]
        np.testing.assert_allclose(got, model(tokens), rtol=0, atol=1e-5 * np.abs(got).max())


@pytest.mark.parametrize("name", ["gmlp-causal-lm", "fnet-masked-lm"])
def test_a_longer_sequence_is_an_error(fixtures, tmp_path, name):
    session = session_of(fixtures / name, tmp_path / "m.onnx")
    with pytest.raises(Exception, match="(?i)broadcast|dimension"):
        session.run(None, {"tokens": np.ones((1, 17), np.int64)})


def test_a_model_in_bf16_is_exported_in_f32(fixtures, tmp_path):
    model = weft.load(fixtures / "gmlp-classifier", "bf16")
    check(weft.load(fixtures / "gmlp-classifier", "f32"), tmp_path / "m.onnx", exported=model)


def test_int8_is_widened(fixtures, tmp_path):
    wide = weft.load(fixtures / "gmlp-causal-lm")

    def rounded(tensors):
        """The matrices that weft quantize rounds, as integers with their scales."""
        for name, values in list(tensors.items()):
            if values.ndim == 2 and "sgu" not in name:
                scale = np.abs(values).max(-1) / np.float32(127)
                yield name, np.round(values / scale[:, None]).astype(np.int8), scale

    def quantize(description, tensors):
        description["quantized"] = "int8"
        for name, whole, scale in rounded(tensors):
            tensors.update({name: whole, name + "_scale": scale})

    def widen(_, tensors):
        tensors.update({name: whole * scale[:, None] for name, whole, scale in rounded(tensors)})

    quantized = edited(wide, quantize)
    check(edited(wide, widen), tmp_path / "m.onnx", exported=quantized)
    check(quantized, tmp_path / "m.onnx", tolerance=0.05)  # weft rounds the inputs of layers, too


def test_int4_is_refused(fixtures, tmp_path):
    def quantize(description, tensors):
        description["quantized"] = "int4"
        for name, values in list(tensors.items()):
            if values.ndim == 2 and "sgu" not in name:
                rows, columns = values.shape
                tensors[name] = np.zeros((rows, (columns + 1) // 2), np.int8)
                tensors[name + "_scale"] = np.zeros((rows, (columns + 31) // 32), np.uint16)

    with pytest.raises(weft.Error, match="int4 are not supported: export the original"):
        weft.onnx.export(edited(weft.load(fixtures / "gmlp-causal-lm"), quantize), tmp_path / "m.onnx")


def check_numbers(model, data, path):
    """Compares the probabilities or predictions for numbers (rows, n[, channels]), or for gray pictures."""
    frames = data[..., None] if data.ndim == 2 or data.dtype == np.uint8 else data
    got = session_of(model, path).run(None, {"frames": frames.astype(np.float32)})[0].astype(np.float64)
    if model.task == "classifier":
        got = np.exp(got) / np.exp(got).sum(-1, keepdims=True)
    want = model.probabilities(data) if model.task == "classifier" else model.predict(data)
    assert got.shape == want.shape and np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("arch", ["gmlp", "fnet", "tnn"])
def test_numbers_and_pictures(tmp_path, arch):
    random, path = np.random.default_rng(0), tmp_path / "m.onnx"
    frames = random.normal(2, 5, (60, 7, 3))
    pictures, labels = random.integers(0, 255, (60, 8, 12), np.uint8), ["a", "b"] * 30
    check_numbers(trained(arch, frames[:, 2, 0] * 3 + 5, frames), frames, path)
    check_numbers(trained(arch, labels, frames[:, :, 0]), frames[:, :, 0], path)
    check_numbers(noisy(trained(arch, labels, pictures, patch=4)), pictures, path)
    if arch != "gmlp":
        mixed = trained(arch, labels, pictures, patch=2, config={"mixing": "picture"})
        check_numbers(noisy(mixed), pictures, path)


@pytest.mark.parametrize("kind", ["none", "sinusoidal", "learned"])
@pytest.mark.parametrize("arch", ["gmlp", "fnet", "tnn"])
def test_positions_of_frames(tmp_path, arch, kind):
    random = np.random.default_rng(0)
    frames = random.normal(2, 5, (60, 7, 3))

    def change(description, tensors):
        description["input"]["positions"] = kind
        for name in [name for name in tensors if name.startswith("encoder.embeddings.")]:
            del tensors[name]
        if kind == "learned":
            description["input"]["length"] = 9
            tensors[("encoder." if arch == "fnet" else "") + "frames.positions"] = random.normal(size=(9, 16))
    model = trained(arch, frames[:, 2, 0] * 3 + 5, frames)
    check_numbers(edited(model, change), frames, tmp_path / "m.onnx")


def test_a_forecast(tmp_path):
    frames = np.random.default_rng(0).normal(2, 5, (60, 7, 3)).astype(np.float32)
    model = trained("gmlp", frames[:, 2, 0] * 3 + 5, frames)
    forecast = edited(model, lambda description, _: description.update(task="forecast"))
    got = session_of(forecast, tmp_path / "m.onnx").run(None, {"frames": frames})[0]
    np.testing.assert_allclose(got, model.predict(frames), rtol=0, atol=1e-5 * np.abs(got).max())


def test_the_file(fixtures, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_text("old")
    weft.onnx.export(str(fixtures / "gmlp-classifier"), str(path))
    made = onnx.load(path)
    assert {p.key: p.value for p in made.metadata_props}["task"] == "classifier"
    assert [d.dim_param for d in made.graph.input[0].type.tensor_type.shape.dim] == ["b", "n"]
    assert [output.name for output in made.graph.output] == ["logits"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.onnx"]


def test_a_failed_export_leaves_the_old_file(fixtures, tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    path.write_text("old")
    with pytest.raises(weft.Error, match="can't open"):
        weft.onnx.export(tmp_path / "missing", path)
    monkeypatch.setitem(_checks.OPTIONS, "gmlp", {"d_model": None})
    with pytest.raises(weft.Error, match='option "d_ffn" of gmlp not supported'):
        weft.onnx.export(fixtures / "gmlp-tied", path)
    assert path.read_text() == "old" and [entry.name for entry in tmp_path.iterdir()] == ["m.onnx"]


def test_parameters_that_the_graph_leaves_out_are_refused(fixtures, tmp_path, monkeypatch):
    monkeypatch.setattr(weft.onnx._gmlp, "block", lambda g, name, x: x)
    with pytest.raises(weft.Error, match=r"parameters blocks\.0\.norm\.bias, .* not supported"):
        weft.onnx.export(fixtures / "gmlp-tied", tmp_path / "m.onnx")


@pytest.mark.parametrize(("call", "message"), [
    (lambda: _checks.checked_config("amlp", "causal-lm", {}), 'architecture "amlp" not supported, expected one of'),
    (lambda: _checks.checked_config("gmlp", "ranking", {}), 'task "ranking" not supported, expected one of causal'),
    (lambda: _checks.checked_config("tnn", "causal-lm", {"new": 1}), 'option "new" of tnn not supported'),
    (lambda: _checks.checked_input({"channels": 2, "new": 1}, False), 'option "new" of the input not supported'),
    (lambda: _checks.checked_input({"channels": 2}, True), "reads both tokens and frames not supported"),
    (lambda: _checks.choice("par_type", 4, [1, 2, 3]), "par_type 4 not supported, expected one of 1, 2, 3"),
])
def test_refused(call, message):
    with pytest.raises(weft.Error, match=message):
        call()
