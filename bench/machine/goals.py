"""Goals: measured values and the limits that they should reach."""
from dataclasses import asdict, dataclass

from script import quartiles


@dataclass(frozen=True)
class Goal:
    """A measured value and its limit. The value must be at least the limit or, with `most`, at most the limit. Without
    a limit, the value is only printed. `low` and `high` are the quartiles, if the value is a median."""
    what: str
    value: float
    limit: float | None = None
    most: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def reached(self):
        if self.limit is None:
            return None
        return self.value <= self.limit if self.most else self.value >= self.limit

    def __str__(self):
        spread = "" if self.low is None else f" [{self.low:.3g}-{self.high:.3g}]"
        verdict = "" if self.limit is None else (f" {'<=' if self.most else '>='} {self.limit:.3g} "
                                                 f"{'reached' if self.reached else 'MISSED'}")
        return f"{self.value:.3g}{spread}{verdict}"

    def record(self):
        """Returns the JSON entry."""
        return {**asdict(self), "reached": self.reached}


def median_goal(what, values, limit=None, most=False):
    """Returns the goal for the median of the values of all rounds."""
    low, median, high = quartiles(values)
    return Goal(what, median, limit, most, low, high)


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
