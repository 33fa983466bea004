// Compares the runs: a table, curves, settings.

// The horizontal axis of the curves: steps, or seconds of training.
let horizontal = "step";

// Measured together with the loss of language models.
const ofTexts = ["perplexity", "bits_per_byte"];

// Metrics that are not fractions.
const ofNumbers = ["MAE", "R2"];
const measureText = (name) => (ofNumbers.includes(name) ? format : percent);

function summary(runs) {
  const texts = ofTexts.filter((name) => runs.some((run) => name in run.metrics.evaluations));
  const metrics = [...new Set(runs.flatMap((run) => measures(run)))];
  const tests = [["test_loss", format], ...texts.map((name) => [name, format]), ...metrics.map((name) => [name, measureText(name)])];
  const tested = runs.some((run) => run.metrics.test !== null) ? tests : [];
  const head = [
    "run", "model", "parameters", "steps", "best validation loss",
    ...texts.map((name) => name.replaceAll("_", " ") + " there"), ...metrics.map((name) => name + " there"),
    ...tested.map(([name]) => (name === "test_loss" ? "test loss" : "test " + name.replaceAll("_", " "))), "time",
    "tokens/s"
  ];
  const rows = runs.map((run, index) => {
    const {best, test, last_step, seconds, tokens_per_second} = run.metrics;
    const steps =
      format(last_step) + (isNumber(run.steps) && run.steps !== last_step ? " of " + format(run.steps) : "");
    const loss = best === null ? "–" : `${format(best.validation_loss)} at step ${format(best.step)}`;
    const cells = [
      `${run.arch} ${run.task}`, format(run.parameters), steps, loss,
      ...texts.map((name) => format(best?.[name])),
      ...metrics.map((name) => (best === null ? "–" : measureText(name)(best[name]))),
      ...tested.map(([name, show]) => (test === null ? "–" : show(test[name]))), duration(seconds),
      format(Math.round(tokens_per_second ?? NaN))
    ];
    return html("tr", {}, html("th", {scope: "row"}, runKey(index), runName(run.name)),
      ...cells.map((cell, i) => html("td", {class: i === 0 ? "" : "number"}, cell)));
  });
  return html("div", {class: "scroll"},
    html("table", {},
      html("thead", {},
        html("tr", {}, ...head.map((name, i) => html("th", {scope: "col", class: i < 2 ? "" : "number"}, name)))),
      html("tbody", {}, ...rows)));
}

const meanings = {
  "accuracy": "The share of the validation rows that are classified correctly.",
  "macro F1": "The mean of the F1 scores of all labels, rare or common, on the validation data.",
  "micro F1": "The F1 score over all labels of all validation rows together.",
  "average precision": "The mean over the labels of the precision at each row that has the label.",
  "span F1": "The F1 score of spans whose ends and whose name are both right, as conlleval computes it.",
  "MAE": "The mean absolute error on the validation data, in the target's unit. Lower is better.",
  "R2": "The share of the targets' variance that the predictions explain; 1 is best."
};

// The metrics besides the loss: fractions like accuracy.
function measures(run) {
  const known = ["step", "seconds", "validation_loss", "predicted", "low", "high"];
  return Object.keys(run.metrics.evaluations).filter((name) => !known.includes(name) && !ofTexts.includes(name));
}

function curveOf(run, index, group, field, more = {}) {
  const table = run.metrics[group], ys = table[field] ?? [];
  return {
    name: run.name,
    colour: runColour(index),
    dash: runDash(index),
    key: index < 8 ? "key" : "key dashed",
    xs: (table[horizontal] ?? []).slice(0, ys.length),
    ys,
    ...more
  };
}

const hasNumbers = (curve) => curve.ys.some(isNumber) && curve.xs.some(isNumber);

// Steps, or the seconds of training in a suitable unit.
function acrossRuns(series) {
  const [, last] = extent(...series.map((each) => each.xs)) ?? [0, 1];
  if (horizontal === "step") return {label: "step"};
  const [unit, name] = last < 180 ? [1, "seconds"] : last < 10800 ? [60, "minutes"] : [3600, "hours"];
  series.forEach((each) => {
    each.xs = each.xs.map((x) => (isNumber(x) ? x / unit : null));
  });
  return {label: name + " of training"};
}

function curveFigure(title, note, runs, make, y, options) {
  const chart = () => {
    const series = runs.flatMap(make).filter(hasNumbers);
    return {x: acrossRuns(series), y, series};
  };
  if (chart().series.length === 0) return null;
  return figure(title, note, [lineChart(chart, options)], {legend: options?.legend});
}

// The highest loss after the first steps, which would flatten the rest of the curve; and whether some of the first
// losses are above it.
function lossRange(runs) {
  const later = ({metrics: {training, last_step}}) =>
    (training.loss ?? []).filter((_, i) => training.step[i] > 0.04 * last_step);
  const [, highest] =
    extent(...runs.map(later), ...runs.map((run) => run.metrics.evaluations.validation_loss ?? [])) ?? [0, undefined];
  const [, all] = extent(...runs.map((run) => run.metrics.training.loss ?? [])) ?? [0, 0];
  return {highest, cut: all > highest * 1.05};
}

function lossFigure(runs) {
  const both = (run, index) => [curveOf(run, index, "training", "loss", {
    name: run.name + ", training",
    width: 1.4,
    opacity: 0.6,
    key: "key thin",
    dash: undefined,
    band: runs.length === 1 && run.metrics.training.low ? [run.metrics.training.low, run.metrics.training.high] :
                                                          undefined
  }),
    curveOf(run, index, "evaluations", "validation_loss", {name: run.name + ", validation", width: 2.6, dots: true}),
  ];
  const key = (kind) => html("span", {class: kind, style: "border-color:var(--muted)"});
  const entries = [{key: key("key thin"), name: "training"}, {key: key("key"), name: "validation"}];
  const pooled = runs.some((run) => run.metrics.training.low);
  const {highest, cut} = lossRange(runs);
  const squared = runs.every((run) => ["regression", "forecast"].includes(run.task));
  const note = (squared ? "The mean squared error of the predictions: lower is better." :
                          "The cross entropy of the predictions, in nats: lower is better, 0 is certainty.") +
    (pooled ? " Each training point is the mean of several steps" +
          (runs.length === 1 ? ", and the band spans their lowest and highest loss." : ".") :
              "") +
    (cut ? " The first steps are above the figure." : "");
  return curveFigure("Loss", note, runs, both, {label: squared ? "squared error" : "nats", highest}, {
    height: 0.42,
    legend:
      legend(runs.length > 1 ? [...runs.map((run, i) => ({key: runKey(i), name: run.name})), ...entries] : entries)
  });
}

function curveSection(runs) {
  const training = (field) => (run, index) => [curveOf(run, index, "training", field, {width: 1.8})];
  const metrics = [...new Set(runs.flatMap((run) => measures(run)))];
  const small = [
    ...metrics.map(
      (name) => curveFigure(name[0].toUpperCase() + name.slice(1), meanings[name] ?? "Measured on the validation data.",
        runs, (run, index) => [curveOf(run, index, "evaluations", name, {dots: true, width: 2.4})],
        ofNumbers.includes(name) ? {label: name} : {label: "%", most: 1, show: (v) => format(100 * v)})),
    curveFigure("Learning rate", "The factor of each update, given by the schedule.", runs,
      training("learning_rate"), {label: "learning rate", zero: true}),
    curveFigure("Gradient norm",
      "The norm of the gradient over all parameters, before clipping; a jump here often precedes a jump of the loss.",
      runs, training("gradient_norm"), {label: "norm", log: true}),
    curveFigure("Throughput",
      "Tokens trained per second, averaged since the run began or was resumed; without validation and saving.", runs,
      training("tokens_per_second"), {label: "tokens/s", zero: true}),
  ];
  const loss = lossFigure(runs);
  const timed = runs.some((run) => (run.metrics.training.seconds ?? []).some(isNumber));
  return html("section", {}, html("h2", {}, "Curves"), ...curveNotes(runs),
    loss !== null && timed ? horizontalSwitch() : null, loss,
    html("div", {class: "pair"}, ...small.filter((each) => each !== null)));
}

function curveNotes(runs) {
  const notes = [];
  const differ = (name) => new Set(runs.map((run) => String(run[name]))).size > 1;
  if (differ("data") || differ("symbols") || differ("task"))
    notes.push("These runs differ in data, vocabulary or task, so their losses can't be compared.");
  for (const run of runs) {
    if (run.metrics.last_step === null) notes.push(`${run.name} has no steps yet.`);
    if (run.metrics.no_loss > 0)
      notes.push(`${run.name}: the loss of ${
        format(run.metrics.no_loss)} steps is not a finite number; its curve has gaps there.`);
  }
  return notes.map((text) => html("p", {class: "note"}, text));
}

function horizontalSwitch() {
  const buttons = [["step", "by step"], ["seconds", "by time"]].map(([kind, text]) => {
    const button = html("button", {type: "button", "aria-pressed": kind === horizontal}, text);
    button.addEventListener("click", () => {
      horizontal = kind;
      buttons.forEach((each) => each.setAttribute("aria-pressed", each === button));
      drawAll();
    });
    return button;
  });
  return html("div", {class: "switch", role: "group", "aria-label": "horizontal axis of the curves"}, ...buttons);
}

// The settings that differ, and the others in sections that can be opened. Fields that only some architectures have
// don't count as differences.
function settingsSection(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))].sort();
  const differs = (name) => new Set(runs.map((run) => run.settings[name])).size > 1;
  const ofSome = (name) => name.startsWith("model: config: ") && runs.some((run) => !(name in run.settings));
  const table = (rows) => html("div", {class: "scroll"},
    html("table", {},
      html("thead", {},
        html("tr", {}, html("th", {scope: "col"}, "setting"),
          ...runs.map((run) => html("th", {scope: "col"}, runName(run.name))))),
      html("tbody", {},
        ...rows.map((name) => html("tr", {}, html("th", {scope: "row"}, name),
                      ...runs.map((run) => html("td", {}, run.settings[name] ?? "–")))))));
  const more = (title, rows) =>
    (rows.length === 0 ? null : html("details", {}, html("summary", {}, title), table(rows)));
  const same = names.filter((name) => !differs(name)), some = names.filter((name) => differs(name) && ofSome(name));
  if (runs.length === 1)
    return html("section", {}, html("h2", {}, "Settings"), more(`all ${same.length}, as recorded in run.json`, same));
  const other = names.filter((name) => differs(name) && !ofSome(name));
  return html("section", {}, html("h2", {}, "Settings that differ"),
    other.length > 0 ? table(other) : html("p", {}, "None: these runs have the same settings."),
    more(`${some.length} that only some architectures have`, some), more(`${same.length} that are equal`, same));
}
