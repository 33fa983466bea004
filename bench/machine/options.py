"""The options that several scripts have, and the selection of their cases."""
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def absolute(path):
    return Path(path).resolve()


def program(name):
    """Returns the path of a program. A name without a slash is searched in PATH, as in a shell."""
    return Path((None if "/" in name else shutil.which(name)) or name).absolute()


# The options that several scripts have, each with its arguments of add_argument.
OPTIONS = {
    "weft": {"type": program, "metavar": "FILE", "default": ROOT / "build/tools/weft",
             "help": "path of the weft command, or its name in PATH"},
    "build": {"type": absolute, "metavar": "FOLDER", "default": ROOT / "build-bench",
              "help": "build folder with the benchmark programs"},
    "cases": {"metavar": "PATTERN", "default": "", "help": "regular expression that selects cases (see --list)"},
    "list": {"action": "store_true", "help": "print the names of the selected cases"},
    "repeat": {"type": int, "metavar": "N", "help": "number of repetitions"},
    "seeds": {"type": int, "metavar": "N", "help": "number of seeds"},
    "steps": {"type": int, "metavar": "N", "help": "steps of each training of weft, for a short test "
              "(default: as many as in bench/learning/experiments/)"},
    "threads": {"type": int, "metavar": "N", "default": len(os.sched_getaffinity(0)), "help": "number of threads"},
    "isa": {"metavar": "NAME", "help": "best instruction set to use: sse2, avx2 and so on; by default, each contestant "
            "uses its best one"},
    "json": {"type": Path, "metavar": "FILE", "help": "write all results to FILE"},
}


def add_options(parser, *names, **changed):
    """Adds some of OPTIONS to a parser. An option in `changed` gets another default or, if its value is a dict, other
    arguments of add_argument."""
    for name in (*names, *changed):
        change = changed.get(name, {})
        option = {**OPTIONS[name], **(change if isinstance(change, dict) else {"default": change})}
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
