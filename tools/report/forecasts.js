// Forecasts: some windows, and the error of each step.

function forecastFigures({targets, windows, horizon, season, rows, of}) {
  // A single number without a history is no figure.
  const clear = windows.filter((window) => window.history.length > 0 || horizon > 1);
  const names = [...new Set(clear.map((window) => window.target))];
  const unread = (name) => (windows.find((window) => window.target === name).history.length === 0 ?
    " The model does not read this column, so its history is not drawn." :
    "");
  const shades = [["history", "var(--muted)"], ["what followed", "var(--run2)"], ["forecast", "var(--run1)"]];
  const key = (colour, dashed) => html("span", {class: dashed ? "key dashed" : "key", style: `border-color:${colour}`});
  const drawn = names.map((name) => figure(`Forecasts of ${name}`,
    `Windows of the validation set, evenly spaced, with the forecast of the next ${
      horizon === 1 ? "row" : horizon + " rows"} in the unit of the column. Row 0 is the last one that the model reads.${
      unread(name)}`,
    windows.filter((window) => window.target === name).map((window) => ({
      ...lineChart(() => windowChart(window, shades), {height: 0.6}),
      caption: `window ${format(window.number)} of ${format(rows)}`
    })),
    {legend: legend(shades.map(([label, colour], i) => ({key: key(colour, i === 2), name: label}))), layout: "windows"}));
  const errors = targets.slice(0, horizon > 1 ? 8 : 0).map((target) => {
    const lines = errorLines(target, season);
    return figure(`Error of each step, ${target.name}`,
      `The mean absolute error over ${rowsShown({rows, of}, "validation windows")}, by the number of rows ahead` +
        (lines.length > 1 ? ", compared with forecasts that need no model." : "."),
      [lineChart(() => ({x: {label: "rows ahead"}, y: {label: "mean absolute error", zero: true}, series: lines}),
        {height: 0.35})],
      {legend: legend(lines.map((line) => ({key: key(line.colour, line.dash), name: line.name})))});
  });
  return [...drawn, ...errors];
}

// Both continuations begin at the last number of the history.
function windowChart({history, actual, predicted}, shades) {
  const past = history.map((_, i) => i + 1 - history.length), last = history.slice(-1), ahead = actual.map((_, i) => i + 1);
  const follow = (values) => ({xs: [...past.slice(-1), ...ahead], ys: [...last, ...values]});
  const lines = [{xs: past, ys: history}, follow(actual), follow(predicted)];
  return {
    x: {label: "rows from the last one that was read"},
    y: {label: ""},
    series: lines
              .map((line, i) => ({
                ...line,
                name: shades[i][0],
                colour: shades[i][1],
                dash: i === 2 ? "5 3" : undefined,
                key: i === 2 ? "key dashed" : "key",
                dots: i > 0 && actual.length < 10
              }))
              .filter((line) => line.xs.length > 0)
  };
}

function errorLines({mae, mae_last: last, mae_season: before}, season) {
  const xs = mae.map((_, i) => i + 1), dots = true;
  const lines = [{name: "the model", colour: "var(--run0)", xs, ys: mae, dots}];
  if (last) lines.push({name: "the last value", colour: "var(--run4)", xs, ys: last, dots, dash: "5 3", key: "key dashed"});
  if (before)
    lines.push({name: `${season} rows before`, colour: "var(--run3)", xs, ys: before, dots, dash: "5 3", key: "key dashed"});
  return lines;
}
