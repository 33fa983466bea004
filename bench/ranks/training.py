"""Runs weft train with several ranks, and reads the time of its steps."""
import os
import random
import re
import shutil
import statistics
import sys

from runs import metrics, run, value


def text_of(folder):
    """Writes a text of 300 kB and returns its path. The time of a step does not depend on the content."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2000)]
    path = folder / "text"
    path.write_text(" ".join(draw.choices(words, k=45000)))
    return path


def train(weft, model, steps, launch, threads, micro_batches, folder, warm=4, more=()):
    """Trains a model. `launch` are the words of the command that starts the ranks; without them, there is one process.
    `more` are further options of weft train. Returns the median seconds of a step, the tokens per step, the number of
    parameters, and the bytes that a rank sends and the seconds that it waits in a step."""
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    command = [weft, "train", *model.split(), "--text", folder / "text", "--threads", threads, "--micro-batches",
               micro_batches, "--steps", steps + warm, "--eval-every", 1000000, "--out", out, *more]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    printed, lines = run([*launch, *command], env=environment), metrics(out)
    times = [line["seconds"] for line in lines if "loss" in line]
    each = [b - a for a, b in zip(times[warm - 1:], times[warm:])]
    tokens = next(line["tokens_per_second"] * line["seconds"] / line["step"] for line in lines if "loss" in line)
    sent = re.search(r"gradients sent ([\d.]+) MB a step, waited for ([\d.]+) ms", printed)
    if launch and not sent:
        sys.exit(f"weft train did not print what the ranks sent:\n{printed}")
    return {"seconds": statistics.median(each), "tokens": tokens,
            "parameters": int(value(printed, "parameters")),
            "sent": float(sent[1]) * 1e6 if sent else 0, "waited": float(sent[2]) / 1e3 if sent else 0}
