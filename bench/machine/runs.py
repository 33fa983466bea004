"""Runs programs, and reads the results of a run of weft."""
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

NUMBER = r"-?\d[\d.,]*(?:e[+-]?\d+)?"


def require(program, configure="--preset bench"):
    """Returns the path of a program. If the program is missing, prints the commands that build it and ends the
    script."""
    if not program.is_file():
        preset = " ".join(configure.split()[:2])
        sys.exit(f"no {program}: cmake {configure} && cmake --build {preset}")
    return program


def require_packages(*names):
    """If Python packages are missing, names them and ends the script with exit code 2."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        print(f"missing Python packages: {', '.join(missing)}", file=sys.stderr)
        sys.exit(2)


def run(command, stdout=subprocess.PIPE, **more):
    """Runs a command whose words may also be paths and numbers. Returns what it printed, or None if stdout is a file.
    If the command fails, ends the script with the command's error message."""
    words = [str(word) for word in command]
    shown = sys.stderr.isatty()  # the command then shows its progress and its error message in the terminal
    try:
        done = subprocess.run(words, stdout=stdout, stderr=None if shown else subprocess.PIPE, text=True, **more)
    except OSError as error:
        sys.exit(f"{words[0]}: {error.strerror}")
    if done.returncode != 0:
        last_lines = [] if shown else done.stderr.splitlines()[-10:]  # the lines before them are progress
        sys.exit("\n".join([f"{shlex.join(words)}: exit code {done.returncode}", *last_lines]))
    return done.stdout


def value(printed, name, pattern=NUMBER):
    """Returns the last text that weft printed at the start of a line after this name, if the text matches the
    pattern."""
    found = re.findall(rf"^{re.escape(name)} ({pattern})(?=\s|$)", printed, re.MULTILINE)
    if not found:
        raise LookupError(f"expected a line that begins with \"{name}\" and a value, got:\n{printed}")
    return found[-1]


def figure(printed, name):
    """Returns the last number that weft printed at the start of a line after this name."""
    return float(value(printed, name).replace(",", ""))


def training_seconds(printed):
    """Returns the time of a run, which weft prints as minutes:seconds or hours:minutes:seconds."""
    total = 0
    for part in value(printed, "time", r"\d+(?::\d+)+").split(":"):
        total = 60 * total + int(part)
    return total


def metrics(folder):
    """Returns the entries of a run's metrics.jsonl."""
    path = Path(folder, "metrics.jsonl")
    if not path.exists():
        sys.exit(f"no {path}")
    return [json.loads(line) for line in path.read_text().splitlines()]


def size(path):
    """Returns the size in bytes of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
