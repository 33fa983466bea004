"""Saved models: their properties, logits, classes and texts."""

import gc
import shutil
import sys
import threading
import time

import numpy as np
import pytest

import weft


def test_properties(language_model, classifier):
    assert language_model.task == "causal-lm"
    assert language_model.labels == []
    assert language_model.outputs == language_model.vocabulary
    assert language_model.precision == "f32"
    assert language_model.tokenizer == "characters"
    assert language_model.config["d_model"] > 0
    assert "causal-lm" in repr(language_model)
    assert classifier.task == "classifier"
    assert classifier.architecture == "fnet"
    assert len(classifier.labels) == classifier.outputs
    assert classifier.parameters > 100
    assert weft.__version__.count(".") == 2


def test_pooling_of_vectors(classifier, fixtures):
    texts = ["the cat", "a dog runs"]
    mean, first = classifier.embed(texts), classifier.embed(texts, pooling="first")
    np.testing.assert_array_equal(classifier.embed(texts, pooling="mean"), mean)
    np.testing.assert_array_equal(classifier.embed(texts[1], pooling="first"), first[1])
    assert first.shape == mean.shape and not np.allclose(first, mean)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-5)
    with pytest.raises(weft.Error, match="pooling.*last"):
        classifier.embed(texts, pooling="last")
    with pytest.raises(weft.Error, match="expected the pooling mean, got first"):
        weft.load(fixtures / "tnn-causal-lm").embed(texts, pooling="first")


def test_logits_of_one_sequence_are_those_of_a_batch(language_model):
    tokens = language_model.encode("5 plus 3")
    assert tokens.dtype == np.int64 and tokens.ndim == 1
    one = language_model(tokens)
    assert one.dtype == np.float32 and one.shape == (len(tokens), language_model.outputs)
    both = language_model(np.stack([tokens, tokens[::-1]]))
    np.testing.assert_allclose(both[0], one, rtol=1e-5, atol=1e-5)
    # Tokens may have any integer type and layout.
    for given in (tokens.tolist(), tokens.astype(np.int32), np.asfortranarray(np.stack([tokens, tokens]))[0],
                  np.repeat(tokens, 2)[::2], tokens[::-1].copy()[::-1]):
        np.testing.assert_array_equal(language_model(given), one)
    read_only = tokens.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(language_model(read_only), one)


def test_classifier_logits(classifier):
    logits = classifier([[1, 2, 3], [3, 2, 1]])
    assert logits.shape == (2, classifier.outputs)
    np.testing.assert_allclose(classifier([1, 2, 3]), logits[0], rtol=1e-5, atol=1e-5)


def test_classify(classifier):
    texts = ["5 plus 3 is 8", "2 plus 2 is", ""]
    p = classifier.probabilities(texts)
    assert p.dtype == np.float64 and p.shape == (3, classifier.outputs)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    # the same bits without the other texts
    np.testing.assert_array_equal(classifier.probabilities(texts[1:2])[0], p[1])
    many = classifier.classify(texts)
    assert [m.label for m in many] == [classifier.labels[i] for i in p.argmax(axis=1)]
    assert many[0].probability == p[0].max()
    assert classifier.classify(texts[0]) == many[0]
    assert classifier.classify([]) == []


def test_classify_pairs(classifier):
    pair = ("5 plus 3", "is 8")
    p = classifier.probabilities([pair, "5 plus 3"])
    np.testing.assert_array_equal(p[0], classifier.probabilities(["5 plus 3\x1fis 8"])[0])
    assert (p[0] != p[1]).any()
    assert classifier.classify([pair])[0].probability == p[0].max()
    for wrong in (("a",), ("a", "b", "c"), ("a", 1), ["a", "b"]):
        with pytest.raises(TypeError, match="a tuple of two texts"):
            classifier.classify([wrong])


def test_encode_decode(language_model):
    text = "5 plus 3"
    assert language_model.decode(language_model.encode(text)) == text
    assert language_model.decode([]) == ""
    assert language_model.encode("").shape == (0,)


def test_generate_is_what_the_command_wrote(fixtures):
    for name in ("gmlp-causal-lm", "tnn-causal-lm", "gmlp-tied", "tnn-options"):
        model = weft.load(fixtures / name)
        expected = (fixtures / name / "continued").read_text().rstrip("\n")
        text = "5 plus" + "".join(model.generate("5 plus", tokens=48, temperature=0))
        assert text.rstrip("\n") == expected


def test_generate_comes_piece_by_piece(language_model):
    options = dict(tokens=12, temperature=0.9, top_k=8, top_p=0.95, seed=4)
    pieces = list(language_model.generate("5 plus", **options))
    assert len(pieces) == 12
    assert pieces == list(language_model.generate("5 plus", **options))
    assert pieces != list(language_model.generate("5 plus", **{**options, "seed": 5}))
    some = language_model.generate("5 plus", **options)
    assert [next(some), next(some)] == pieces[:2]
    some.close()
    assert list(language_model.generate("5 plus", tokens=0)) == []
    stopped = "".join(language_model.generate("5 plus", stop=pieces[3], **options))
    assert stopped == "".join(pieces).split(pieces[3])[0]
    # A piece that may be the beginning of a stop text is held back, but generation doesn't end there.
    waiting = list(language_model.generate("5 plus", stop=[pieces[3] + "☃"], **options))
    assert "".join(waiting) == "".join(pieces) and len(waiting) < len(pieces)


def test_generate_with_guesses_is_the_same_text(fixtures):
    for name in ("gmlp-causal-lm", "tnn-causal-lm"):
        model = weft.load(fixtures / name)
        for options in (dict(temperature=0), dict(temperature=0.9, seed=4), dict(temperature=0, stop="1")):
            prompt = "5 plus 3 is 8\n5 plus 3 is 8\n5 plus"
            pieces = list(model.generate(prompt, tokens=60, **options))
            assert pieces == list(model.generate(prompt, tokens=60, speculate=True, **options))


def test_stream_is_the_forward_pass(language_model):
    tokens = language_model.encode("5 plus 3")
    stream = language_model.stream()
    stream.append(tokens[:4])
    copy = stream.copy()
    logits = stream.append(tokens[4:])
    assert logits.shape == (language_model.vocabulary,)
    np.testing.assert_allclose(logits, language_model(tokens)[-1], rtol=1e-4, atol=1e-4)
    for token in tokens[4:]:
        last = copy.append(token)
    np.testing.assert_allclose(last, logits, rtol=1e-4, atol=1e-4)


def test_results_and_streams_outlive_the_model(fixtures):
    model = weft.load(fixtures / "gmlp-causal-lm")
    logits, stream, pieces = model([1, 2, 3]), model.stream(), model.generate("5", tokens=3, temperature=0)
    before = logits.copy()
    continued = list(model.generate("5", tokens=3, temperature=0))
    del model
    gc.collect()
    others = [weft.load(fixtures / name) for name in ("tnn-causal-lm", "fnet-classifier", "gmlp-tied")]
    np.testing.assert_array_equal(logits, before)
    logits[0] = 0  # the result belongs to the caller
    assert stream.append([1]).shape == (before.shape[1],)
    assert list(pieces) == continued
    assert len(others) == 3


def test_copy_of_the_weights(fixtures, tmp_path):
    for name in ("gmlp-causal-lm", "tnn-causal-lm", "gmlp-tied"):
        folder = shutil.copytree(fixtures / name, tmp_path / name)
        want = weft.load(folder)([1, 2, 3])
        model = weft.load(folder, copy=True)
        (folder / "model.safetensors").write_bytes(b"")
        np.testing.assert_array_equal(model([1, 2, 3]), want)
        with pytest.raises(weft.Error, match="model.safetensors"):
            weft.load(folder, copy=True)


def test_precision(fixtures):
    model = weft.load(fixtures / "gmlp-causal-lm", precision="bf16")
    assert model.precision == "bf16"
    logits = model([1, 2, 3])
    assert logits.dtype == np.float32
    exact = weft.load(fixtures / "gmlp-causal-lm")([1, 2, 3])
    assert 0 < np.abs(logits - exact).max() < 0.1 * np.abs(exact).max()


def test_mistakes_are_errors(fixtures, language_model, classifier, tmp_path):
    assert issubclass(weft.Error, RuntimeError) and weft.Error.__module__ == "weft"
    with pytest.raises(weft.Error, match="no-such-folder"):
        weft.load(tmp_path / "no-such-folder")
    with pytest.raises(weft.Error, match="f16"):
        weft.load(fixtures / "gmlp-causal-lm", precision="f16")
    with pytest.raises(weft.Error, match="1000000"):
        language_model([1, 1000000])
    with pytest.raises(weft.Error):
        language_model([])
    with pytest.raises(TypeError, match="tokens: expected integers, got float64"):
        language_model([1.0, 2.0])
    with pytest.raises(weft.Error, match="expected a classifier"):
        language_model.classify("5 plus")
    with pytest.raises(TypeError, match="expected a list"):
        classifier.probabilities(5)
    with pytest.raises(weft.Error):
        classifier.stream()
    with pytest.raises(weft.Error, match="top_p"):
        language_model.generate("5", top_p=0)  # raised by the call, not by the first piece
    with pytest.raises(weft.Error):
        classifier.generate("5")
    with pytest.raises(weft.Error, match="at least one token"):
        language_model.stream().append([])
    with pytest.raises(weft.Error):
        language_model.decode([-1])


def test_threads_share_a_model(language_model):
    tokens = language_model.encode("5 plus 3 is")
    alone = language_model(tokens)
    answers = [None] * 4

    def ask(i):
        for _ in range(5):
            answers[i] = language_model(tokens)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        np.testing.assert_array_equal(answer, alone)


def long_calls(language_model, classifier):
    x = np.random.default_rng(1).standard_normal((1, 2, 2048, 16))
    tokens = np.tile(language_model.encode("5 plus 3"), (4000, 1))
    return {
        "toeplitz_product": lambda: weft.toeplitz_product(x, np.ones((2, 4095, 16)), form="naive"),
        "fourier_mix": lambda: weft.fourier_mix(x.repeat(16, axis=0)),
        "logits": lambda: language_model(tokens),
        "probabilities": lambda: classifier.probabilities(["5 plus 3 is 8"] * 4000),
        "generate": lambda: list(language_model.generate("5 plus 3", tokens=400)),
    }


@pytest.mark.parametrize("name", ["toeplitz_product", "fourier_mix", "logits", "probabilities", "generate"])
def test_the_lock_is_released(name, language_model, classifier):
    # With this switch interval no thread releases the lock by itself, so this one runs meanwhile only if the call
    # released it.
    call = long_calls(language_model, classifier)[name]
    interval = sys.getswitchinterval()
    inside, finished, seen = [False], threading.Event(), []

    def compute():
        inside[0] = True
        call()
        inside[0] = False
        finished.set()

    sys.setswitchinterval(1000)
    try:
        for _ in range(20):
            finished.clear()
            thread = threading.Thread(target=compute)
            thread.start()
            while not finished.is_set():
                seen.append(inside[0])
                time.sleep(0)
            thread.join()
            if any(seen):
                return
    finally:
        sys.setswitchinterval(interval)
    raise AssertionError("nothing ran during the call")


def test_number_of_threads():
    before = weft.threads()
    weft.set_threads(2)
    assert weft.threads() == 2
    weft.set_threads(before)
    with pytest.raises(weft.Error, match="1024"):
        weft.set_threads(0)


def test_threads_share_a_continuation(language_model):
    # A Python generator allows only one caller at a time, so the test calls the continuation below it.
    for seed in range(5):
        pieces = []
        continuation = language_model._loaded.generation("5 plus 3 is", 200, 1.0, 0, 1.0, seed, [], False)

        def ask():
            while (piece := continuation.next()) is not None:
                pieces.append(piece)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(pieces) == 200
