// Figures and line charts.

const figures = [];

// A figure of plots. Each plot is a function that returns the SVG for a width and a handler for pointer positions:
// {width, svg, at(x, y) -> {mark, lines} or null}. `plots`: [{draw, caption}].
function figure(title, note, plots, {legend = null, layout = ""} = {}) {
  const boxes = plots.map((plot) => html("div", {class: "plot"}));
  const body = html("div", {class: layout},
    ...plots.map(
      (plot, i) => html("div", {}, plot.caption ? html("div", {class: "caption"}, plot.caption) : null, boxes[i])));
  const element = html("figure", {}, html("figcaption", {}, html("h3", {}, title), html("p", {}, note)), legend, body);
  plots.forEach((plot, i) => watchPointer(boxes[i]));
  figures.push({element, title, boxes, draw: () => plots.forEach((plot, i) => drawPlot(boxes[i], plot, title))});
  return element;
}

// A figure that consists only of markup.
function staticFigure(title, note, content) {
  const element = html("figure", {}, html("figcaption", {}, html("h3", {}, title), html("p", {}, note)), content);
  figures.push({element, title, boxes: [], draw: () => {}});
  return element;
}

function drawPlot(box, plot, title) {
  const width = Math.floor(box.clientWidth);
  if (width === 0) return;
  const drawn = plot.draw(width);
  drawn.svg.setAttribute("role", "img");
  drawn.svg.setAttribute("aria-label", title + (plot.caption ? ": " + plot.caption : ""));
  box.replaceChildren(drawn.svg);
  box.drawn = drawn;
}

// Shows the values at the pointer, which may be a finger.
function watchPointer(box) {
  const hide = () => box.querySelectorAll(".hint, .mark-at").forEach((each) => each.remove());
  box.addEventListener("pointerleave", hide);
  const show = (event) => {
    const place = box.getBoundingClientRect();
    hide();
    const found = box.drawn && box.drawn.at(event.clientX - place.left, event.clientY - place.top);
    if (!found) return;
    box.drawn.svg.append(svg("g", {class: "mark-at"}, ...found.marks));
    const hint = html("div", {class: "hint"}, ...found.lines.map(([key, name,
      value]) => html("div", {class: "line"}, key, html("span", {class: "name"}, name), html("b", {}, value))));
    box.append(hint);
    const x = event.clientX - place.left,
          left = x + 14 + hint.offsetWidth > place.width ? x - 14 - hint.offsetWidth : x + 14;
    hint.style.left = Math.max(0, Math.min(left, place.width - hint.offsetWidth)) + "px";
  };
  box.addEventListener("pointermove", show);
  box.addEventListener("pointerdown", show);
}

// The position of a value within [low, high], as a fraction; a range of one value has a width, too.
function scale(range, log) {
  let [low, high] = range;
  if (low === high)
    [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  const f = log ? Math.log10 : (v) => v;
  const to = (value) => (f(value) - f(low)) / (f(high) - f(low));
  const from = (part) => (log ? 10 ** (f(low) + part * (f(high) - f(low))) : low + part * (high - low));
  return {low, high, to, from, ticks: (count) => (log ? logTicks(low, high) : ticks(low, high, count))};
}

// A path through the points that have numbers. A point without neighbors becomes a dot.
function path(points) {
  let d = "", open = false, alone = false;
  for (const point of points) {
    if (point === null) {
      if (alone) d += "h0.01";
      open = alone = false;
      continue;
    }
    d += (open ? "L" : "M") + point[0].toFixed(1) + " " + point[1].toFixed(1);
    alone = !open;
    open = true;
  }
  return alone ? d + "h0.01" : d;
}

// The index of the number nearest to x in a sorted list.
function nearest(list, x) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && x - list[low - 1] <= list[low] - x ? low - 1 : low;
}

// Lines over x. `chart` is called for each drawing: () -> {x: {label, range}, y: {label, range, log, zero, highest, most, show},
// series: [{name, colour, dash, width, opacity, dots, key, xs, ys, band: [low, high]}]}. Null values are gaps.
function lineChart(chart, {height = 0.5} = {}) {
  return {draw: (width) => drawLines(chart(), width, Math.round(Math.min(380, Math.max(210, width * height))))};
}

function drawLines({x, y, series}, width, height) {
  const values = series.map((each) => each.ys.map((v) => (y.log && !(v > 0) ? null : v)));
  const bands = series.flatMap((each) => each.band ?? []);
  const up = scale(shownRange(y.range ?? extent(...values, ...bands) ?? [1, 1], y, height / 55), y.log === true);
  const across = scale(x.range ?? fromZero(extent(...series.map((each) => each.xs)) ?? [0, 1]), false);
  const yTicks = up.ticks(Math.max(3, height / 55)), showY = y.show ?? format;
  const left = 12 + 7.2 * Math.max(1, ...yTicks.map((tick) => showY(tick).length)), top = 24;
  const box = {left, top, right: width - 14, bottom: height - 42, width, height};
  const px = (v) => left + across.to(v) * (box.right - left), py = (v) => box.bottom - up.to(v) * (box.bottom - top);
  const root = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`});
  drawAxes(root, box, {px, label: x.label, ticks: across.ticks(Math.max(2, (box.right - left) / 90))},
    {py, label: y.label, ticks: yTicks, show: showY});
  const lines = inside(root, box);
  series.forEach((each, s) => drawLine(lines, each, values[s], px, py));
  const clamp = (v) => Math.min(Math.max(v, up.low), up.high);
  const at = (mouseX) => {
    if (mouseX < left - 10 || mouseX > width) return null;
    const there = across.from((mouseX - left) / (box.right - left));
    return valuesAt(series, values, there, {px, py, clamp, showY, label: x.label, box});
  };
  return {svg: root, at};
}

function drawAxes(root, box, x, y) {
  const rule = (at) => svg("line", {class: "rule", x1: box.left, x2: box.right, y1: at, y2: at});
  for (const tick of y.ticks)
    root.append(
      rule(y.py(tick)), svg("text", {x: box.left - 7, y: y.py(tick) + 4, "text-anchor": "end"}, y.show(tick)));
  for (const tick of x.ticks) root.append(tickX(x.px(tick), box.bottom, format(tick), box.left, box.width));
  const middle = (box.left + box.right) / 2;
  root.append(rule(box.bottom), svg("text", {x: 0, y: 12}, y.label),
    svg("text", {x: middle, y: box.height - 4, "text-anchor": "middle"}, x.label));
}

function drawLine(lines, each, values, px, py) {
  const isThere = (i) => isNumber(values[i]) && isNumber(each.xs[i]);
  const points = each.xs.map((x, i) => (isThere(i) ? [px(x), py(values[i])] : null));
  if (each.band) lines.append(bandOf(each, px, py));
  lines.append(svg("path", {
    class: "mark",
    d: path(points),
    fill: "none",
    stroke: each.colour,
    "stroke-width": each.width ?? 2,
    "stroke-opacity": each.opacity,
    "stroke-dasharray": each.dash,
    "stroke-linejoin": "round",
    "stroke-linecap": "round"
  }));
  if (!each.dots || points.length > 60) return;
  for (const at of points)
    if (at) lines.append(svg("circle", {cx: at[0], cy: at[1], r: 3, fill: each.colour}));
}

// The part of y's range that the axis shows. It begins at 0 if `zero`, ends at `highest` if given, and has round ends,
// but doesn't go beyond `most`, the maximum of y. A log axis shows at most six powers of ten.
function shownRange([low, high], {log, zero, highest, most}, count) {
  if (log) return [Math.max(low, high * 1e-6), high];
  if (zero || (isNumber(most) && low === high)) low = Math.min(low, 0);
  if (isNumber(highest)) high = Math.min(high, highest);
  for (let round = 0; round < 3 && low < high; ++round) {  // a wider range may have other round numbers
    const [first, second] = ticks(low, high, Math.max(3, count)), step = second - first;
    if (!(step > 0)) break;
    [low, high] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  }
  if (isNumber(most)) high = Math.min(high, most);
  return [low, high];
}

// Clips what is outside of the axes, except for the width of a line.
let clips = 0;
function inside(root, box) {
  const id = "inside" + ++clips, lines = svg("g", {"clip-path": `url(#${id})`});
  const width = box.right - box.left + 8, height = box.bottom - box.top + 8;
  root.append(svg("clipPath", {id}, svg("rect", {x: box.left - 4, y: box.top - 4, width, height})), lines);
  return lines;
}

// Extends a range that begins near 0 to begin at 0.
function fromZero([low, high]) {
  return low > 0 && low < high * 0.2 ? [0, high] : [low, high];
}

// The label of a tick, moved so that it stays inside the drawing.
function tickX(at, bottom, label, left, width) {
  const half = label.length * 3.4, place = Math.max(left - 10 + half, Math.min(at, width - half - 1));
  return svg("g", {}, svg("line", {class: "rule", x1: at, x2: at, y1: bottom, y2: bottom + 5}),
    svg("text", {x: place, y: bottom + 19, "text-anchor": "middle"}, label));
}

function bandOf(each, px, py) {
  const [low, high] = each.band, upper = [], lower = [];
  each.xs.forEach((x, i) => {
    if (!isNumber(x) || !isNumber(low[i]) || !isNumber(high[i])) return;
    upper.push(`${px(x).toFixed(1)} ${py(high[i]).toFixed(1)}`);
    lower.unshift(`${px(x).toFixed(1)} ${py(low[i]).toFixed(1)}`);
  });
  return svg("path",
    {d: upper.length ? "M" + upper.concat(lower).join("L") + "Z" : "", fill: each.colour, "fill-opacity": 0.13});
}

// Whether a position is before a line's first point or after its last.
function isBeyond(xs, at, px) {
  const [first, last] = extent(xs);
  return at < px(first) - 12 || at > px(last) + 12;
}

function valuesAt(series, values, x, plot) {
  const marks = [], lines = [];
  let shown = null;
  series.forEach((each, s) => {
    if (each.xs.length === 0) return;
    const i = nearest(each.xs, x), value = values[s][i];
    if (!isNumber(value) || !isNumber(each.xs[i]) || isBeyond(each.xs, plot.px(x), plot.px)) return;
    if (shown === null || Math.abs(each.xs[i] - x) < Math.abs(shown - x)) shown = each.xs[i];
    marks.push(svg("circle", {cx: plot.px(each.xs[i]), cy: plot.py(plot.clamp(value)), r: 4, fill: each.colour}));
    lines.push(
      [html("span", {class: each.key ?? "key", style: `border-color:${each.colour}`}), each.name, plot.showY(value)]);
  });
  if (shown === null) return null;
  marks.unshift(
    svg("line", {class: "pointer", x1: plot.px(shown), x2: plot.px(shown), y1: plot.box.top, y2: plot.box.bottom}));
  lines.unshift([null, plot.label, format(shown)]);
  return {marks, lines};
}

function legend(entries) {
  return html("ul", {class: "legend"}, ...entries.map(({key, name}) => html("li", {}, key, runName(name))));
}
