"""Functions and colors that the scripts share for drawing charts with gnuplot."""
from runs import run

# Colors that color-blind people can tell apart (Okabe and Ito 2008).
COLORS = BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
                                                       "#000000")


def block(name, lines):
    """Returns the definition of a data block, which the command plot reads as $name."""
    return f"${name} << END\n" + "".join(line + "\n" for line in lines) + "END\n"


def axes(grid=""):
    """Returns the settings of a chart without a frame: two axes, and gray lines at the tics of the axes in `grid`, by
    default at those of both."""
    return f"""set border 3 lc rgb '#555555'
set grid {grid} lc rgb '#DDDDDD' lw 1 lt 1
set tics nomirror
"""


def draw(script, png, width, height, font=12):
    """Runs a script and writes the chart, whose size is given in pixels."""
    run(["gnuplot"], input=f"""set terminal pngcairo enhanced size {width},{height} font 'DejaVu Sans,{font}' \
background '#FFFFFF'
set output "{png}"
{script}""")
