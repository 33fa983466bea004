"""Draws line plots as SVG from the tables that annotated programs print. A table has this form:

    plot: TITLE | X LABEL [log] | Y LABEL [log]
    x, NAME, NAME, ...
    1, 0.5, 0.7
"""

import html
import math

from md import PageError

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 64, 16, 34, 46


class Axis:
    """Maps values to positions. The axis is linear or logarithmic."""

    def __init__(self, label: str, values: list[float], begin: float, end: float):
        self.log = label.endswith(" log")
        self.label = label.removesuffix(" log")
        if self.log and min(values) <= 0:
            raise ValueError(f"a logarithmic axis cannot show {min(values)}")
        self.low, self.high = (math.log10(min(values)), math.log10(max(values))) if self.log else (
            min(values), max(values))
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.begin, self.end = begin, end

    def at(self, value: float) -> float:
        """Returns the position of a value."""
        x = math.log10(value) if self.log else value
        return self.begin + (x - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Returns about four to eight round values."""
        if self.log:
            first, last = math.floor(self.low), math.ceil(self.high)
            step, factors = (1, (1, 2, 5)) if self.high - self.low < 2.5 else (max(1, (last - first + 6) // 7), (1,))
            values = [f * 10.0 ** k for k in range(first, last + 1, step) for f in factors]
            return [v for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
        raw = (self.high - self.low) / 5
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(s * size for s in (1, 2, 5, 10) if s * size >= raw)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """Formats a number as a short decimal or with a power of ten."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        exponent = math.floor(math.log10(abs(value)) + 1e-9)
        mantissa = value / 10.0 ** exponent
        power = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return power if abs(mantissa - 1) < 1e-6 else f"{mantissa:.3g}·{power}"
    return f"{value:.6g}"


def figure(lines: list[str], file: str) -> str:
    """Returns the drawing of a table, and the table itself, which is folded."""
    try:
        title, x_label, y_label = (part.strip() for part in lines[0].removeprefix("plot: ").split("|"))
        names = [name.strip() for name in lines[1].split(",")]
        rows = [[float(value) for value in line.split(",")] for line in lines[2:]]
        if not rows or any(len(row) != len(names) for row in rows):
            raise ValueError(f"expected rows of {len(names)} numbers")
        svg = drawing(title, x_label, y_label, names[1:], rows)
    except (ValueError, IndexError) as error:
        raise PageError(f"{file}: the plot \"{lines[0]}\" can't be read: {error}") from error
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(v.strip())}</td>" for v in line.split(",")) + "</tr>"
                    for line in lines[2:])
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    return (f'<figure class="plot">{svg}<details><summary>Numbers</summary><div class="table"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div></details></figure>")


def drawing(title: str, x_label: str, y_label: str, names: list[str], rows: list[list[float]]) -> str:
    """Returns the SVG element. Points whose value is NaN are left out."""
    x = Axis(x_label, [row[0] for row in rows], LEFT, WIDTH - RIGHT)
    columns = 2 if len(names) > 2 else 1  # columns of the legend
    top = TOP + 18 * math.ceil(len(names) / columns)
    y = Axis(y_label, [v for row in rows for v in row[1:] if v == v], HEIGHT - BOTTOM, top)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">',
             f'<text class="title" x="{LEFT}" y="18">{html.escape(title)}</text>']
    for tick in y.ticks():
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(tick):.1f}" y2="{y.at(tick):.1f}"/>'
                     f'<text class="tick" x="{LEFT - 6}" y="{y.at(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in x.ticks():
        parts.append(f'<line class="grid" x1="{x.at(tick):.1f}" x2="{x.at(tick):.1f}" y1="{top}" y2="{HEIGHT - BOTTOM}"/>'
                     f'<text class="tick" x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                     f"{number(tick)}</text>")
    parts.append(f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
                 f"{html.escape(x.label)}</text>"
                 f'<text class="label" transform="translate(14 {(top + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
                 f'text-anchor="middle">{html.escape(y.label)}</text>')
    for k, name in enumerate(names):
        points = [(x.at(row[0]), y.at(row[k + 1])) for row in rows if row[k + 1] == row[k + 1]]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<g class="series series{k % 6}"><polyline points="{path}"/>')
        if len(points) <= 30:
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in points]
        height, left = TOP + 18 * (k // columns), LEFT + 250 * (k % columns)
        parts.append(f'<line x1="{left}" x2="{left + 22}" y1="{height}" y2="{height}"/></g>'
                     f'<text class="key" x="{left + 28}" y="{height + 4}">{html.escape(name)}</text>')
    return "".join(parts) + "</svg>"
