"""Functions that the scripts share: their common options, their cases, medians with quartiles, and JSON files."""
import json
import os
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def absolute(path):
    return Path(path).resolve()


# The options that several scripts have, each with its arguments of add_argument.
OPTIONS = {
    "weft": {"type": absolute, "metavar": "FILE", "default": ROOT / "build/tools/weft",
             "help": "path of the weft command"},
    "build": {"type": absolute, "metavar": "FOLDER", "default": ROOT / "build-bench",
              "help": "build folder with the benchmark programs"},
    "cases": {"metavar": "PATTERN", "default": "", "help": "regular expression that selects cases (see --list)"},
    "list": {"action": "store_true", "help": "print the names of the selected cases"},
    "repeat": {"type": int, "metavar": "N", "help": "number of repetitions"},
    "seeds": {"type": int, "metavar": "N", "help": "number of seeds"},
    "threads": {"type": int, "metavar": "N", "default": len(os.sched_getaffinity(0)), "help": "number of threads"},
    "isa": {"metavar": "NAME", "help": "best instruction set to use: sse2, avx2 and so on; by default, each contestant "
            "uses its best one"},
    "json": {"type": Path, "metavar": "FILE", "help": "write all results to FILE"},
}


def add_options(parser, *names, **defaults):
    """Adds some of OPTIONS to a parser. The options in `defaults` get another default than in OPTIONS."""
    for name in (*names, *defaults):
        option = {**OPTIONS[name], **({"default": defaults[name]} if name in defaults else {})}
        if option.get("default"):
            option["help"] += " (default: %(default)s)"
        parser.add_argument("--" + name, **option)


def select(options, *groups):
    """Returns the items of each group whose names match --cases. With --list, prints these names and ends the
    script."""
    chosen = [[item for item in group if re.search(options.cases, str(item))] for group in groups]
    names = [str(item) for group in chosen for item in group]
    if not names:
        sys.exit(f"no case matches {options.cases!r} (see --list)")
    if options.list:
        print("\n".join(names))
        sys.exit(0)
    return chosen


def require(program, preset="bench"):
    """Returns the path of a program. If the program is missing, prints the command that builds it and ends the
    script."""
    if not program.is_file():
        sys.exit(f"no {program}: cmake --preset {preset} && cmake --build --preset {preset}")
    return program


def quartiles(values):
    """The lower quartile, the median and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def times(samples):
    """Returns the JSON entries for the measured seconds of a contestant."""
    low, median, high = quartiles(samples)
    return {"seconds": median, "low": low, "high": high, "samples": samples}


def write_json(path, result):
    """Writes a result to a file, or does nothing if the path is None. The result may contain goals."""
    if path:
        path.write_text(json.dumps(result, indent=1, default=lambda goal: goal.record()) + "\n", encoding="utf-8")
