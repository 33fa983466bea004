// Matrices as pictures.

// Colors from the page's color at 0 to that of `high` at 1, or of `low` at -1.
function ramp(low, high) {
  const zero = colour("page"), ends = [colour(low), colour(high)];
  return (part) => {
    const end = ends[part < 0 ? 0 : 1], t = Math.min(1, Math.abs(part));
    return zero.map((from, c) => Math.round(from + (end[c] - from) * t));
  };
}

// The address of an image with a pixel for each cell, transparent where there is no number.
function picture(grid, limit, shade) {
  const canvas = html("canvas", {width: grid.columns, height: grid.rows}), context = canvas.getContext("2d");
  const image = context.createImageData(grid.columns, grid.rows);
  grid.values.forEach((value, i) => {
    if (Number.isNaN(value)) return;
    image.data.set([...shade(value / limit), 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

// `x` and `y`: {label, from, to}, where the first column (row) begins and the last one ends. `shades`: the names of two
// colors. `aspect`: height over width.
function matrixPlot({
  grid,
  x,
  y,
  caption,
  shades = ["negative", "positive"],
  limit = usualLimit(grid.values),
  aspect = 1,
  show = format,
  value = "value"
}) {
  const draw = (width) => {
    const left = 8 + 7 * Math.max(String(y.to).length, String(y.from).length), top = 18, right = 8;
    const innerWidth = width - left - right, innerHeight = Math.round(innerWidth * aspect),
          height = top + innerHeight + 34;
    const root = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`});
    root.append(svg("image", {
      class: "mark",
      href: picture(grid, limit, ramp(...shades)),
      x: left,
      y: top,
      width: innerWidth,
      height: innerHeight,
      preserveAspectRatio: "none"
    }),
      svg("rect", {x: left, y: top, width: innerWidth, height: innerHeight, fill: "none", class: "rule"}),
      svg("text", {x: 0, y: 11}, y.label),
      svg("text", {x: left + innerWidth / 2, y: height - 3, "text-anchor": "middle"}, x.label));
    const toX = (v) => left + ((v - x.from) / (x.to - x.from)) * innerWidth,
          toY = (v) => top + ((v - y.from) / (y.to - y.from)) * innerHeight;
    for (const tick of ticks(x.from, x.to, Math.max(2, innerWidth / 60)))
      root.append(tickX(toX(tick), top + innerHeight - 2, format(tick), left, width));
    for (const tick of ticks(y.from, y.to, Math.max(2, innerHeight / 50)))
      root.append(
        svg("text", {x: left - 5, y: Math.min(toY(tick) + 8, top + innerHeight), "text-anchor": "end"}, format(tick)));
    return {svg: root, at: (mouseX, mouseY) => cellAt(mouseX, mouseY)};

    function cellAt(mouseX, mouseY) {
      const j = Math.floor(((mouseX - left) / innerWidth) * grid.columns),
            i = Math.floor(((mouseY - top) / innerHeight) * grid.rows);
      if (i < 0 || j < 0 || i >= grid.rows || j >= grid.columns) return null;
      const cellWidth = innerWidth / grid.columns, cellHeight = innerHeight / grid.rows;
      const mark = svg("rect",
        {class: "cell", x: left + j * cellWidth, y: top + i * cellHeight, width: cellWidth, height: cellHeight});
      return {
        marks: [mark],
        lines: [
          [null, y.label, place(y, i, grid.rows)], [null, x.label, place(x, j, grid.columns)],
          [null, value, show(grid.at(i, j))]
        ]
      };
    }
  };
  return {draw, caption};
}

// The label of cell k of `count`: a number, or a range if the cell stands for several.
function place(axis, k, count) {
  const per = (axis.to - axis.from) / count, first = axis.from + k * per;
  if (Math.abs(per - 1) < 1e-9) return format(Math.round(first));
  return per < 1 ? format(first) : format(Math.round(first)) + " … " + format(Math.round(first + per) - 1);
}

// The legend of a color ramp: its colors, and the meaning of its ends.
function rampLegend(shades, names) {
  const [low, high] = shades.map((name) => `var(--${name})`);
  const image = names.length === 3 ? `${low}, var(--page), ${high}` : `var(--page), ${high}`;
  const parts = [
    runName(names[0]), html("span", {class: "ramp", style: `background:linear-gradient(90deg, ${image})`}),
    runName(names[names.length - 1])
  ];
  return html("ul", {class: "legend"}, html("li", {}, ...parts));
}
