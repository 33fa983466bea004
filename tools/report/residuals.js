// Predicted numbers: predictions against true values, and the residuals.

function residualFigures(figureData) {
  const {targets} = figureData, drawn = targets.filter((target) => target.histogram);
  const found = drawn.map((target) => residualFigure(target, figureData, targets.length === 1));
  if (targets.length === 1) return found;
  const note = drawn.length < targets.length ? ` The figures after this table show the first ${drawn.length}.` : "";
  return [staticFigure("Errors of the targets",
    "MAE is the mean absolute error and RMSE the root of the mean squared error, both in the target's unit. R² is 1 for " +
      "exact predictions, and 0 for predictions that are no better than the mean." + note,
    numberTable(["target", "MAE", "RMSE", "R²"],
      targets.map(({name, mae, rmse, r2}) => [name, format(mae), format(rmse), format(r2)]))),
    ...found];
}

function residualFigure(target, figureData, alone) {
  const {name, mae, rmse, r2, actual, predicted, histogram, pairs} = target;
  const what = alone && name === "value" ? "Predictions and residuals" : `Predictions and residuals of ${name}`;
  const part = actual.length < pairs ? ` ${format(actual.length)} of the ${format(pairs)} pairs are drawn.` : "";
  const outside = histogram.outside > 0 ?
    ` The histogram leaves out the farthest residuals, ${format(histogram.outside)} of ${format(pairs)}.` :
    "";
  return figure(what,
    `On ${rowsShown(figureData, figureData.task === "forecast" ? "validation windows" : "validation rows")}, R² is ${
      format(r2)}, the mean absolute error is ${format(mae)}, and the root mean squared error ${
      format(rmse)}. On the diagonal, predictions are exact. A residual is the true value minus the prediction, in the ` +
      "target's unit." + part + outside,
    [{...scatterPlot(actual, predicted), caption: "predicted against true values"},
      {...histogramPlot(histogram), caption: "residuals"}],
    {layout: "pair"});
}

// A point for each row, with the diagonal. Both axes have the same range.
function scatterPlot(actual, predicted) {
  const draw = (width) => {
    const height = Math.round(Math.min(380, width * 0.85)), axis = scale(shownRange(extent(actual, predicted), {}, 5));
    const marks = axis.ticks(5), left = 12 + 7.2 * Math.max(...marks.map((tick) => format(tick).length));
    const box = {left, top: 24, right: width - 14, bottom: height - 42, width, height};
    const px = (v) => left + axis.to(v) * (box.right - left), py = (v) => box.bottom - axis.to(v) * (box.bottom - box.top);
    const root = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`});
    drawAxes(root, box, {px, label: "true value", ticks: axis.ticks(Math.max(2, width / 110))},
      {py, label: "prediction", ticks: marks, show: format});
    const group = inside(root, box), {low, high} = axis;
    group.append(svg("line", {class: "pointer", x1: px(low), y1: py(low), x2: px(high), y2: py(high)}));
    actual.forEach((value, i) => group.append(svg("circle", {
      class: "mark",
      cx: px(value).toFixed(1),
      cy: py(predicted[i]).toFixed(1),
      r: actual.length > 300 ? 2 : 3,
      fill: "var(--run0)",
      "fill-opacity": actual.length > 100 ? 0.45 : 0.75
    })));
    const at = (x, y) => {
      let best = 20, found = -1;
      actual.forEach((value, i) => {
        const distance = Math.hypot(px(value) - x, py(predicted[i]) - y);
        if (distance < best) [best, found] = [distance, i];
      });
      if (found < 0) return null;
      const [value, given] = [actual[found], predicted[found]];
      return {
        marks: [svg("circle", {cx: px(value), cy: py(given), r: 5, fill: "var(--run0)"})],
        lines: [[null, "true value", format(value)], [null, "prediction", format(given)],
          [null, "residual", format(value - given)]]
      };
    };
    return {svg: root, at};
  };
  return {draw};
}

function histogramPlot({from, width: step, counts}) {
  const to = from + step * counts.length, start = (k) => from + k * step;
  const draw = (width) => {
    const height = Math.round(Math.min(380, width * 0.85)), across = scale([from, to]);
    const up = scale(shownRange([0, Math.max(...counts)], {zero: true}, height / 55));
    const marks = up.ticks(Math.max(3, height / 55)).filter(Number.isInteger);
    const left = 12 + 7.2 * Math.max(1, ...marks.map((tick) => format(tick).length));
    const box = {left, top: 24, right: width - 14, bottom: height - 42, width, height};
    const px = (v) => left + across.to(v) * (box.right - left), py = (v) => box.bottom - up.to(v) * (box.bottom - box.top);
    const root = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`});
    drawAxes(root, box, {px, label: "residual: true value − prediction", ticks: across.ticks(Math.max(2, width / 110))},
      {py, label: "count", ticks: marks, show: format});
    const bar = (k) => ({
      x: px(start(k)),
      y: py(counts[k]),
      width: Math.max(1, px(start(k + 1)) - px(start(k)) - 1),
      height: box.bottom - py(counts[k])
    });
    counts.forEach((_, k) => root.append(svg("rect", {class: "mark", ...bar(k), fill: "var(--run0)", "fill-opacity": 0.75})));
    if (from < 0 && to > 0)
      root.append(svg("line", {class: "pointer", x1: px(0), x2: px(0), y1: box.top, y2: box.bottom}));
    const at = (x) => {
      const k = Math.floor((across.from((x - left) / (box.right - left)) - from) / step);
      if (!(k >= 0 && k < counts.length)) return null;
      return {
        marks: [svg("rect", {class: "cell", ...bar(k)})],
        lines: [[null, "residual", `${format(start(k))} … ${format(start(k + 1))}`], [null, "count", format(counts[k])]]
      };
    };
    return {svg: root, at};
  };
  return {draw};
}
