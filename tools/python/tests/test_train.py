"""Training from Python: data of every kind, callbacks, saved runs, and what is refused."""

import _thread
import json
import pickle
import signal

import numpy as np
import pytest

import weft
from weft._rows import rows_of

TEXTS = ["red apple", "green pear", "red cherry", "yellow banana", "green lime", "yellow lemon"] * 10
COLORS = ["red", "green", "red", "yellow", "green", "yellow"] * 10
SMALL = {"layers": 1, "d_model": 16, "batch": 8, "lr": 1e-2, "progress": False}


def train(data, labels, **settings):
    return weft.train(data, labels, **{**SMALL, "length": 8, "steps": 60, **settings})


@pytest.fixture(scope="module")
def colors():
    return train(TEXTS, COLORS)


def test_classes(colors):
    assert colors.model.task == "classifier" and colors.model.labels == ["green", "red", "yellow"]
    assert colors.model.classify("red apple").label == "red"
    assert [answer.label for answer in colors.model.classify(["green pear", "yellow lemon"])] == ["green", "yellow"]
    assert colors.metrics[-1]["step"] == 60 and colors.best["loss"] <= colors.metrics[0]["loss"]
    assert colors.folder is None and "classifier" in repr(colors)


def test_several_answers(colors):
    two = colors.model.classify("red apple", top=2)
    assert len(two) == 2 and two[0].label == "red" and two[0].probability > two[1].probability
    assert [len(row) for row in colors.model.classify(TEXTS[:3], top=9)] == [3, 3, 3]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        colors.model.classify("red apple", top=0)


def test_the_same_seed_gives_the_same_model(colors):
    again = train(TEXTS, COLORS)
    np.testing.assert_array_equal(again.model.probabilities(TEXTS[:6]), colors.model.probabilities(TEXTS[:6]))
    other = train(TEXTS, COLORS, seed=2)
    assert (other.model.probabilities(TEXTS[:6]) != colors.model.probabilities(TEXTS[:6])).any()


def test_rounded_weights(colors):
    rounded = train(TEXTS, COLORS, fake_quant="int4")
    assert (rounded.model.probabilities(TEXTS[:6]) != colors.model.probabilities(TEXTS[:6])).any()
    assert rounded.model.classify("red apple").label == "red"
    with pytest.raises(weft.Error, match='expected bf16, int8 or int4, got "int3"'):
        train(TEXTS, COLORS, fake_quant="int3")


def test_pickle_and_save(colors, tmp_path):
    want = colors.model.probabilities(TEXTS[:6])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(colors.model)).probabilities(TEXTS[:6]), want)
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(colors.model))))
    np.testing.assert_array_equal(twice.probabilities(TEXTS[:6]), want)
    colors.model.save(tmp_path / "saved")
    np.testing.assert_array_equal(weft.load(tmp_path / "saved").probabilities(TEXTS[:6]), want)


def test_pickle_keeps_the_precision(fixtures):
    model = weft.load(fixtures / "fnet-classifier", "bf16")
    again = pickle.loads(pickle.dumps(model))
    assert again.precision == "bf16"
    np.testing.assert_array_equal(again.probabilities(["2 plus 2 is"]), model.probabilities(["2 plus 2 is"]))


def test_numbers_and_regression():
    x = np.random.default_rng(0).normal(size=(200, 6))
    run = train(x, 3 * x[:, 2] + 5, arch="gmlp", length=None, steps=300)
    got = run.model.predict(x[:50])
    assert got.shape == (50, 1) and run.model.task == "regression"
    assert np.corrcoef(got[:, 0], x[:50, 2])[0, 1] > 0.95
    classes = train(x.astype(np.float32)[:, :, None], (x[:, 3] > 0).astype(int), arch="gmlp", length=None, steps=300)
    assert classes.model.labels == ["0", "1"]
    assert np.mean([int(a.label) == (row[3] > 0) for a, row in zip(classes.model.classify(x), x)]) > 0.9


def test_lists_of_numbers():
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] * 10
    model = train(rows, [1.5, 2.5, 3.5] * 10, length=None, steps=2).model
    np.testing.assert_array_equal(model.predict(rows), model.predict(np.array(rows)))


def test_several_labels_of_pictures():
    x = np.random.default_rng(0).integers(0, 255, (60, 8, 8), np.uint8)
    x[::2, :4] = 0
    run = train(x, [["top"], ["top", "bottom"]] * 30, length=None, patch=4, steps=200, lr=1e-2)
    found = [sorted(answer.label for answer in row) for row in run.model.predict(x[:4])]
    assert found == [["top"], ["bottom", "top"]] * 2
    with pytest.raises(ValueError, match="a single picture needs an axis for rows"):
        run.model.predict(x[0])


def test_pictures():
    x = np.random.default_rng(0).integers(0, 60, (90, 8, 8), np.uint8)
    x[:45, :4] += 120
    labels = ["top"] * 45 + ["none"] * 45
    run = train(x, labels, length=None, patch=4)
    assert [answer.label for answer in run.model.classify(x[[0, 80]])] == ["top", "none"]
    colored = np.repeat(x[:, :, :, None], 3, axis=3)
    model = train(colored, labels, length=None, steps=2, shift=1, flips=True).model
    assert model.probabilities(colored).shape == (90, 2)
    with pytest.raises(ValueError, match=r"whose shape ends in \(8, 8, 1\), got \(90, 8, 8, 3\)"):
        run.model.classify(colored)
    with pytest.raises(TypeError, match="expected texts, got numbers"):
        train(TEXTS, COLORS, steps=2).model.classify(x)
    with pytest.raises(ValueError, match="1 or 3 channels"):
        train(colored[..., :2], labels)


def test_several_numbers():
    run = train(TEXTS, [[1.0, 2.0] if "red" in text else [3.0, 0.5] for text in TEXTS])
    np.testing.assert_allclose(run.model.predict(["red apple", "green pear"]), [[1, 2], [3, 0.5]], atol=0.5)
    np.testing.assert_array_equal(run.model.predict("red apple"), run.model.predict(["red apple"])[0])


def test_numbers_of_every_shape():
    x = np.random.default_rng(0).normal(size=(40, 6))
    y = np.stack([x[:, 0], -x[:, 1]], 1)
    assert train(x, y, arch="gmlp", length=None, steps=2).model.predict(x[:3]).shape == (3, 2)
    assert train(x, y[:, :1], arch="gmlp", length=None, steps=2).model.predict(x[:3]).shape == (3, 1)
    with pytest.warns(UserWarning, match='40 rows have 40 distinct integers.*task="regression"') as warned:
        weft.train(x, np.arange(40), arch="gmlp", steps=2, **SMALL)
    assert warned[0].filename == __file__


@pytest.mark.parametrize("depth", [0, 3])
def test_warnings_name_the_line_outside_the_package(depth):
    package = {"__name__": "weft.another", "call": rows_of}
    for _ in range(depth):
        exec("def call(*args, inner=call): return inner(*args)", package)
    with pytest.warns(UserWarning, match="40 rows have 40 distinct integers") as warned:
        package["call"](np.eye(40), np.arange(40), None)
    assert warned[0].filename == __file__


def test_numbers_of_numpy_as_sizes():
    model = train(TEXTS, COLORS, d_model=np.int64(16), dropout=np.float32(0.5), steps=np.int64(1)).model
    assert model.config["d_model"] == 16 and model.config["dropout"] == 0.5
    with pytest.raises(TypeError, match="config: expected numbers, texts and lists, got <object"):
        train(TEXTS, COLORS, config={"gamma": object()})


def test_tables_of_one_column():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": TEXTS, "color": COLORS})
    model = train(table[["text"]], table[["color"]], steps=2).model
    assert model.labels == ["green", "red", "yellow"] and model.probabilities("red apple").shape == (3,)


def test_several_labels_and_tags():
    run = train(TEXTS, [["a"] if "red" in text else ["b", "c"] for text in TEXTS])
    found = run.model.predict(["red apple", "green pear"])
    assert [sorted(answer.label for answer in row) for row in found] == [["a"], ["b", "c"]]
    tagger = train(["a b c", "b a c"] * 20, [["A", "B", "C"], ["B", "A", "C"]] * 20, task="tagging")
    assert tagger.model.predict(["c a b"]) == [[("c", "C"), ("a", "A"), ("b", "B")]]
    assert tagger.model.predict("c a b") == [("c", "C"), ("a", "A"), ("b", "B")]


def test_tags_of_numbers():
    x = np.random.default_rng(0).normal(size=(100, 6))
    tags = np.where(x > 0, "high", "low")
    tagger = train(x, tags, task="tagging", arch="tnn", length=None, steps=200).model
    found = tagger.predict(x[:20])
    assert [len(row) for row in found] == [6] * 20 and {type(tag) for row in found for tag in row} == {str}
    assert np.mean(np.array(found) == tags[:20]) > 0.9
    assert tagger.predict(x[:20, :, None]) == found and tagger.predict(x[:20].tolist()) == found
    assert [len(row) for row in tagger.predict(x[:2, :4])] == [4, 4]
    with pytest.raises(TypeError, match="rows: expected an array of numbers, because the model reads numbers"):
        tagger.predict(["high low"])
    with pytest.raises(ValueError, match=r"whose shape ends in \(1,\), got \(20, 3, 2\)"):
        tagger.predict(x[:20].reshape(20, 3, 2))


@pytest.mark.parametrize("texts", [["red", "\udc80"], "\udc80"])
def test_texts_that_utf_8_cannot_encode(colors, texts):
    with pytest.raises(TypeError, match="rows: expected texts that can be encoded in UTF-8"):
        colors.model.classify(texts)


@pytest.mark.parametrize("rows", [[[1, 2], [3]], [np.zeros(2), np.zeros(3)], [[[1], [2]], [[3]]]])
def test_rows_of_different_lengths(colors, rows):
    message = "data: expected texts, or rows of numbers that all have the same shape"
    with pytest.raises(ValueError, match=message):
        train(rows, [1.5] * len(rows))
    with pytest.raises(ValueError, match=message):
        colors.model.predict(rows)


def test_pairs_and_vectors():
    pairs = [("a red box", f"{color} lid") for color in ("red", "blue", "green")] * 20
    run = train(pairs, ["yes", "no", "no"] * 20, validation=(pairs[:3], ["yes", "no", "no"]))
    assert [answer.label for answer in run.model.classify(pairs[:3])] == ["yes", "no", "no"]
    model = train(TEXTS, COLORS, task="retrieval", dimensions=5).model
    vectors = model.embed(["red apple", "red cherry"])
    assert vectors.shape == (2, 5)
    np.testing.assert_array_equal(model.embed("red cherry"), vectors[1])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_usual_batches(tmp_path):
    def batch(name, *data, **settings):
        weft.train(*data, layers=1, d_model=8, steps=1, length=8, progress=False, out=tmp_path / name, **settings)
        return json.loads((tmp_path / name / "run.json").read_text())["batch"]
    assert batch("rows", TEXTS, COLORS) == 32 and batch("pairs", TEXTS, COLORS, task="retrieval") == 64
    assert batch("text", "a text of words. " * 90) == 12


def test_labels_of_a_retrieval_may_have_line_ends():
    train(TEXTS, [f"{color}\nfruit" for color in COLORS], task="retrieval", steps=1)
    with pytest.raises(weft.Error, match="row 1: the label has a line end"):
        train(TEXTS, [f"{color}\nfruit" for color in COLORS])


def test_a_language_model():
    text = "the cat sat on the mat. " * 60
    run = train(text, None, steps=300, length=16, d_model=32)
    assert run.model.task == "causal-lm" and run.model.tokenizer == "characters"
    assert "".join(run.model.generate("the cat", 12, temperature=0)) == " sat on the "
    assert train([text, text], None, task="masked-lm", tokenizer="words", steps=2).model.task == "masked-lm"
    with pytest.raises(TypeError, match="labels: expected None for a text or a series"):
        train(text, ["a"])
    with pytest.raises(TypeError, match="expected one label for each row. Data without labels"):
        train(TEXTS, None)
    with pytest.raises(ValueError, match="expected a text, got the name of the file"):
        train(__file__, None)
    with pytest.raises(TypeError, match="expected a number, the share at the end of the data, got tuple"):
        train(text, None, validation=(text, None))
    epoch = train("ab" * 500, None, steps=None, epochs=1, length=8, validation=0.2)
    assert epoch.metrics[-1]["step"] == 13  # batches of 8 windows of 8 in 800 characters
    with pytest.raises(weft.Error, match="share of 0.01 to 0.99, got 0.001"):
        train(text, None, validation=0.001)


@pytest.mark.parametrize("arch", ["gmlp", "tnn", "fnet"])
def test_a_forecast(arch):
    time = np.arange(400)
    series = np.stack([10 + 3 * np.sin(time * 0.5), np.cos(time)], 1)
    run = train(series, None, task="forecast", arch=arch, length=16, steps=400, horizon=3, targets=["0"], season=12)
    assert run.model.labels == ["0+1", "0+2", "0+3"] and "MAE of a season before" in run.metrics[0]
    want = 10 + 3 * np.sin(np.arange(400, 403) * 0.5)
    got = run.model.forecast(series)
    assert got.shape == (3, 1)
    np.testing.assert_allclose(got[:, 0], want, atol=0.7)
    np.testing.assert_array_equal(run.model.forecast(series[-16:]), got)
    with pytest.raises(weft.Error, match=r"at least 16 rows of 2 columns, got \(15, 2\)"):
        run.model.forecast(series[:15])


def test_forecasts_of_several_columns():
    time = np.arange(300)
    series = np.stack([time % 4, 50 - time % 3], 1)
    both = train(series, None, task="forecast", arch="gmlp", length=12, horizon=2, steps=400)
    assert both.model.labels == ["0+1", "0+2", "1+1", "1+2"]
    np.testing.assert_allclose(both.model.forecast(series), [[0, 50], [1, 49]], atol=0.5)
    one = train(time % 5, None, task="forecast", arch="gmlp", length=8, steps=2).model
    assert one.forecast(time % 5).shape == (1, 1) and one.max_length == 8
    for wrong, error in ((["a", "b"], TypeError), (np.zeros((0, 2)), TypeError), (np.zeros((2, 2, 2)), TypeError),
                         ([1.0, np.inf], ValueError)):
        with pytest.raises(error, match="data: "):
            train(wrong, None, task="forecast")
    with pytest.raises(weft.Error, match="task forecast, got classifier"):
        train(TEXTS, COLORS, steps=1).model.forecast(time)


def test_tables_of_series():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"price": np.arange(200) % 7, "volume": np.arange(200) % 3})
    model = train(table, None, task="forecast", targets=["price"], arch="gmlp", length=8, steps=2).model
    assert model.labels == ["price+1"]
    with pytest.raises(TypeError, match="targets: expected a list, got str"):
        train(table, None, task="forecast", targets="price")
    assert train(table, None, task="forecast", targets=table.columns[1:], steps=2).model.labels == ["volume+1"]
    other = table.assign(date="today")[["date", "volume", "price"]]  # another order, and a column more
    np.testing.assert_array_equal(model.forecast(other), model.forecast(table))


def test_a_folder_and_a_validation_set(tmp_path):
    folder = tmp_path / "run"
    run = train(iter(TEXTS), COLORS, validation=(TEXTS[:6], COLORS[:6]), out=folder, steps=20, eval_every=10,
                optimizer="muon", optimizer_options={"momentum": 0.9}, config={"expand_ratio": 2})
    assert run.folder == str(folder) and run.model.config["expand_ratio"] == 2
    assert [metrics["step"] for metrics in run.metrics] == [10, 20]
    assert json.loads((folder / "run.json").read_text())["optimizer"] == "muon"
    np.testing.assert_array_equal(weft.load(folder).probabilities(TEXTS[:3]), run.model.probabilities(TEXTS[:3]))
    assert json.loads((folder / "run.json").read_text())["batch"] == 8
    with pytest.raises(weft.Error, match="the label is .*blue.*, expected one of"):
        train(TEXTS, COLORS, validation=(["a", "b"], ["blue", "red"]))
    with pytest.raises(weft.Error, match="already exists: overwrite=True"):
        train(TEXTS, COLORS, out=folder, steps=2)
    assert train(TEXTS, COLORS, out=folder, steps=2, overwrite=True).metrics[-1]["step"] == 2


def test_callbacks_see_every_step_and_may_stop_the_run(tmp_path):
    seen = []
    train(TEXTS, COLORS, steps=15, callback=lambda step, loss: seen.append((step, loss > 0)))
    assert seen == [(step, True) for step in range(1, 16)]

    def stop(step, loss):
        if step == 7:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        train(TEXTS, COLORS, steps=10**6, callback=stop, out=tmp_path / "stopped")
    assert weft.load(tmp_path / "stopped").labels == ["green", "red", "yellow"]


def test_ctrl_c(tmp_path):
    def interrupt(step, loss):
        if step == 3:
            _thread.interrupt_main()

    # A shell starts background processes with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            train(TEXTS, COLORS, steps=10**6, callback=interrupt, out=tmp_path / "stopped")
    finally:
        signal.signal(signal.SIGINT, before)
    assert weft.load(tmp_path / "stopped").task == "classifier"


def test_an_error_of_the_callback_is_raised_also_if_training_fails_after_it(tmp_path):
    def fail(step, loss):
        (tmp_path / "run").rename(tmp_path / "moved")  # so that the last state can't be saved
        (tmp_path / "run").write_text("a file")
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        train(TEXTS, COLORS, callback=fail, out=tmp_path / "run")


def test_best_is_the_validation_of_the_model():
    from types import SimpleNamespace
    model = SimpleNamespace(_loaded=SimpleNamespace(step=2))
    assert weft.Run(model, [{"step": 1, "loss": 0.1}, {"step": 2, "loss": 0.2}], None).best["loss"] == 0.2
    run = train(TEXTS, COLORS, steps=40, eval_every=5, best_by="accuracy", lr=3e-2)
    accuracies = [metrics["accuracy"] for metrics in run.metrics]
    assert run.best["accuracy"] == max(accuracies)
    losses = [metrics["loss"] for metrics in run.metrics]
    chosen = train(TEXTS, COLORS, steps=40, eval_every=5, lr=3e-2).best
    assert chosen["loss"] == min(losses)


def test_the_card_says_where_the_model_comes_from(tmp_path):
    run = train(TEXTS, COLORS, steps=40, seed=7, license="CC-BY-4.0", about="Colors of things")
    card = run.model.card
    assert card["license"] == "CC-BY-4.0" and card["about"] == "Colors of things" and "rows" in card["data"]
    assert card["settings"]["seed"] == 7 and card["settings"]["optimizer"] == "adamw"
    assert card["validation"]["accuracy"] == run.best["accuracy"]
    run.model.save(tmp_path / "saved")
    assert weft.load(tmp_path / "saved").card == card


def test_names_are_in_the_order_of_the_command():
    assert train(TEXTS, [("10", "9", "-1")[k % 3] for k in range(60)], steps=1).model.labels == ["-1", "9", "10"]
    assert train(TEXTS, [("10", "9", "b")[k % 3] for k in range(60)], steps=1).model.labels == ["10", "9", "b"]


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": TEXTS, "color": COLORS, "number": range(60)})
    assert train(table["text"], table["color"], steps=1).model.labels == ["green", "red", "yellow"]
    assert train(table[["number"]], COLORS, arch="gmlp", length=None, steps=1).model._loaded.channels == 1
    with pytest.raises(TypeError, match=r"data: expected a list or one column, got DataFrame of shape \(60, 2\)"):
        train(table[["text", "color"]], COLORS)


def test_types_of_labels():
    assert train(TEXTS, [0] + [0.5] * 59, steps=1).model.task == "regression"
    assert train(TEXTS, list(np.arange(60, dtype=np.float32)), steps=1).model.task == "regression"
    assert train(TEXTS, list(np.arange(60) % 2), steps=1).model.labels == ["0", "1"]
    assert train(TEXTS, [{"b", "a"}, {"c"}] * 30, steps=1).model.labels == ["a", "b", "c"]
    with pytest.raises(TypeError, match="validation: expected a share or a pair"):
        train(TEXTS, COLORS, validation=(TEXTS,))


def test_a_model_doesnt_change_with_its_folder(tmp_path):
    first = train(TEXTS, COLORS, out=tmp_path / "run", steps=1).model
    train(TEXTS, ["p", "q"] * 30, out=tmp_path / "run", steps=1, overwrite=True)
    first.save(tmp_path / "copy")
    assert weft.load(tmp_path / "copy").labels == ["green", "red", "yellow"]


def test_progress(capsys):
    train(TEXTS, COLORS, steps=10, progress=True)
    shown = capsys.readouterr().err
    assert "step 10/10  loss" in shown and "step 10: validation loss" in shown and "accuracy" in shown


@pytest.mark.parametrize(("data", "labels", "error", "message"), [
    (TEXTS, COLORS[:3], ValueError, "labels: expected one label for each of 60 rows, got 3"),
    ([], [], ValueError, "expected at least 2 rows, got 0"),
    ("text", ["a"], TypeError, "labels: expected None for a text or a series"),
    (5, ["a"], TypeError, "data: expected a list, got int"),
    ([1, 2], ["a", "b"], TypeError, "expected a text or a tuple of two texts in row 0, got 1"),
    (np.full((3, 2), np.nan), [0, 1, 0], ValueError, "row 0 has a NaN"),
    (np.zeros(3), [0, 1, 0], ValueError, r"expected numbers \(rows, n\) or .* got shape \(3,\)"),
    (np.zeros((3, 2), complex), [0, 1, 0], ValueError, "expected real numbers"),
    (TEXTS[:2], [1.5, float("nan")], ValueError, "expected a label for each row, got nan in row 1"),
    (["one text", "one text"], ["a", "b"], weft.Error, "at least two"),
    (TEXTS[:2], ["a", None], ValueError, "expected a label for each row, got None in row 1"),
    (TEXTS[:2], ["a", ""], weft.Error, "row 2: the label is empty"),
    (TEXTS[:2], [["a|b"], ["c"]], ValueError, "names without '|', got 'a|b'"),
])
def test_refused(data, labels, error, message):
    with pytest.raises(error, match=message):
        train(data, labels)


@pytest.mark.parametrize(("settings", "message"), [
    ({"arch": "none"}, "unknown architecture"),
    ({"config": {"colour": 1}}, "unknown config key"), ({"steps": 0}, "steps"), ({"lr": -1.0}, "learning rate"),
    ({"optimizer": "none"}, "unknown optimizer"), ({"precision": "f16"}, "f16"), ({"validation": 1.5}, "share"),
])
def test_refused_settings(settings, message):
    with pytest.raises(weft.Error, match=message):
        train(TEXTS, COLORS, **settings)


def test_an_unknown_architecture_for_numbers():
    with pytest.raises(weft.Error, match="unknown architecture.*gmlp"):
        train(np.eye(4), [0.5, 1.5, 2.5, 3.5], arch="none", length=None)


def test_settings_of_another_type():
    with pytest.raises(TypeError, match="lr: expected a number or None, got 'fast'"):
        train(TEXTS, COLORS, lr="fast")
    with pytest.raises(TypeError, match="optimizer: expected a str, got 3"):
        train(TEXTS, COLORS, optimizer=3)
    with pytest.raises(ValueError, match="seed: expected a value in the range of its type, got -1"):
        train(TEXTS, COLORS, seed=-1)
    with pytest.raises(ValueError, match="task: expected one of causal-lm, .*, forecast, .* got 'forcast'"):
        train(TEXTS, COLORS, task="forcast")
    with pytest.raises(ValueError, match="steps, epochs: expected only one of them, got 60 and 2"):
        train(TEXTS, COLORS, epochs=2)


def test_other_tasks_say_what_they_can():
    with pytest.raises(weft.Error, match="expected a model for the task regression"):
        train(TEXTS, COLORS, steps=2).model.predict(["red apple"])
    x = np.zeros((4, 3), np.float32)
    x[:, 0] = [1, 2, 3, 4]
    model = train(x, ["a", "b", "a", "b"], arch="gmlp", length=None, steps=2).model
    with pytest.raises(weft.Error, match="expected a model that reads texts"):
        model.embed(["red apple"])
    with pytest.raises(TypeError, match="the model reads numbers"):
        model.classify("abcdefghijkl")
    assert model.probabilities(np.zeros((0, 3))).shape == (0, 2)
    with pytest.raises(ValueError, match="rows: expected at most 3 frames, got 4"):
        model.probabilities(np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"\(rows, n, channels\) whose shape ends in \(1,\), got \(2, 3, 2\)"):
        model.probabilities(np.zeros((2, 3, 2), np.float32))


def test_missing_labels_of_pandas():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(["a", "b", pandas.NA] * 20, dtype="string")
    with pytest.raises(ValueError, match="expected a label for each row, got <NA> in row 2"):
        train(TEXTS, labels)


def test_a_text_of_parts_that_are_no_texts():
    with pytest.raises(TypeError, match="data: expected a text in row 1, got nan"):
        weft.train(["a text", float("nan")], task="causal-lm", progress=False)


def test_a_share_from_numpy():
    text = "abc " * 200
    run = weft.train(text, task="causal-lm", validation=np.float32(0.25), length=8, steps=2, layers=1, d_model=16,
                     progress=False)
    assert run.metrics


def test_saving_over_another_model(colors, tmp_path):
    other = train(TEXTS, COLORS, steps=1, d_model=8, out=str(tmp_path / "run"))
    folder = tmp_path / "run" / "last"
    assert (folder / "config.json").exists()
    colors.model.save(folder)
    assert weft.load(folder).labels == colors.model.labels and other.model.task == "classifier"
    assert np.array_equal(weft.load(folder).probabilities(TEXTS[:2]), colors.model.probabilities(TEXTS[:2]))


@pytest.mark.parametrize("option", [{"horizon": 3}, {"targets": ["a"]}, {"season": 7}])
def test_options_of_forecasts_are_refused_elsewhere(option):
    with pytest.raises(ValueError, match=f"{next(iter(option))}: only for forecasts"):
        train(TEXTS, COLORS, **option)


def test_embed_uses_the_loaded_model(tmp_path):
    first, other = (train(TEXTS, COLORS, task="retrieval", dimensions=5, steps=2, seed=seed).model for seed in (1, 2))
    expected = first.embed(TEXTS[:3])
    first.save(tmp_path)
    loaded = weft.load(tmp_path)
    other.save(tmp_path)  # replaces the file, but not the loaded model
    assert np.array_equal(loaded.embed(TEXTS[:3]), expected)
    assert not np.array_equal(other.embed(TEXTS[:3]), expected)
