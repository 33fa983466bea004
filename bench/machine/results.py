"""Results: medians with quartiles, goals, and files."""
import csv
import json
import math
import statistics
from dataclasses import asdict, dataclass
from decimal import Decimal


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


def mean_and_range(values, digits):
    return f"{statistics.mean(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def plain(value, digits=3):
    """Returns a number with at least this many significant digits, without an exponent."""
    if not math.isfinite(value):
        return str(value)
    return format(Decimal(f"{value:.{max(digits, len(str(int(abs(value)))))}g}"), "f")


@dataclass(frozen=True)
class Goal:
    """A measured value and its limit. The value must be at least the limit or, with `at_most`, at most the limit.
    Without a limit, the value is only printed. `low` and `high` are the quartiles, if the value is a median."""
    what: str
    value: float
    limit: float | None = None
    at_most: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def reached(self):
        if self.limit is None:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def __str__(self):
        spread = "" if self.low is None else f" [{plain(self.low)}-{plain(self.high)}]"
        if self.limit is None:
            return plain(self.value) + spread
        equal = self.value == self.limit  # otherwise, the texts have so many digits that they differ
        digits = next(n for n in range(3, 18) if equal or plain(self.value, n) != plain(self.limit, n))
        return (f"{plain(self.value, digits)}{spread} {'<=' if self.at_most else '>='} {plain(self.limit, digits)} "
                f"{'reached' if self.reached else 'MISSED'}")


def median_goal(what, values, limit=None, at_most=False):
    """Returns the goal for the median of the values of all rounds."""
    low, median, high = quartiles(values)
    return Goal(what, median, limit, at_most, low, high)


def summary(rows):
    """Prints how many goals were reached, and which ones were missed. A row has the keys "case", "goals" and, if known,
    "threads". Returns the exit code of the script, which is 1 if a goal was missed."""
    judged = [(row, goal) for row in rows for goal in row["goals"] if goal.limit is not None]
    missed = [(row, goal) for row, goal in judged if not goal.reached]
    print(f"\n{len(judged) - len(missed)} of {len(judged)} goals reached")
    for row, goal in missed:
        threads = f", {row['threads']}T" if "threads" in row else ""
        print(f"  {row['case']}{threads}: {goal.what} {goal}")
    return 1 if missed else 0


def record(goal):
    """Returns the JSON entry of a goal."""
    if not isinstance(goal, Goal):
        raise TypeError(f"{type(goal).__name__} cannot be written as JSON")
    return {**asdict(goal), "reached": goal.reached}


def write_json(path, result):
    """Writes a result to a file, or does nothing if the path is None. The result may contain goals."""
    if path:
        path.write_text(json.dumps(result, indent=1, default=record) + "\n", encoding="utf-8")


def write_csv(path, header, rows):
    with open(path, "w", encoding="utf8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def write_fasttext(path, rows):
    """Writes rows (label, text) in fastText's format."""
    path.write_text("".join(f"__label__{label} {text}\n" for label, text in rows), encoding="utf8")
