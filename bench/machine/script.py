"""Functions that the scripts share: quartiles, and a check that a required program exists."""
import statistics
import sys
from pathlib import Path


def quartiles(values):
    """The lower quartile, the median and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def require(program, preset="bench"):
    """If a program is missing, prints the command that builds it and ends the script."""
    if not Path(program).is_file():
        sys.exit(f"no {program}: cmake --preset {preset} && cmake --build --preset {preset}")
