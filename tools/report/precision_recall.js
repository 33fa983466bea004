// Precision and recall of labels.

function precisionRecallFigures(figureData) {
  const {labels, micro, curves} = figureData;
  if (curves[0].recall.length === 0)
    return [html("p", {class: "note"}, "No validation row has a label, so there are no curves of precision and recall.")];
  const name = (curve) => (curve.label === null ? "micro average" : labels[curve.label].label);
  const scores = (curve) => (curve.label === null ? micro : labels[curve.label]);
  const series = curves.map((curve, i) => ({
    name: name(curve),
    colour: i === 0 ? "var(--ink)" : runColour(i - 1),
    dash: i === 0 ? "6 4" : undefined,
    key: i === 0 ? "key dashed" : "key",
    xs: curve.recall,
    ys: curve.precision,
    width: 1.8,
    dots: curve.recall.length < 20
  }));
  const entries = series.map((each, i) => html("li", {},
    html("span", {class: each.key, style: `border-color:${each.colour}`}), runName(each.name),
    html("span", {class: "muted"}, `average precision ${format3(scores(curves[i]).average_precision)}${
      i === 0 ? "" : `, ${format(scores(curves[i]).actual)} rows`}`)));
  const occurring = labels.filter((label) => label.actual > 0).length, drawn = curves.length - 1;
  const which = drawn < occurring ? ` The curves are those of the ${drawn} labels with the fewest rows, of ${occurring}.` : "";
  const found = [figure("Precision and recall",
    "Each point of a curve is a threshold: a label is predicted for all rows in which its probability is at least the " +
      "threshold. Recall is the share of the label's rows that are found, precision the share of the found rows that " +
      "have the label. The micro average counts all labels together. The mean of the labels' average precisions is " +
      `${format3(figureData.mean_average_precision)}, over ${rowsShown(figureData)}.${which}`,
    [lineChart(() => ({
      x: {label: "recall", range: [0, 1]},
      y: {label: "precision", range: [0, 1], most: 1},
      series
    }),
      {height: 0.45})],
    {legend: html("ul", {class: "legend"}, ...entries)})];
  return figureData.task === "multilabel" ? [...found, labelTable(figureData)] : found;
}

const format3 = (value) => (isNumber(value) ? value.toFixed(3) : "–");

// The table of a multilabel task. A classifier's stands beside its confusion matrix.
function labelTable({labels, micro}) {
  const line = (name, s) => [name, percent(s.precision), percent(s.recall), percent(s.f1), format3(s.average_precision),
    format(s.actual), format(s.predicted)];
  return staticFigure("Scores of the labels",
    "A label counts as predicted from a probability of 0.5 on. The micro F1 is then " + percent(micro.f1) +
      `. On these rows it would be highest, ${percent(micro.best.f1)}, with --threshold ${
        format(micro.best.threshold)} of weft predict.`,
    numberTable(["label", "precision", "recall", "F1", "average precision", "rows", "predicted"],
      [...labels.map((label) => line(label.label, label)), line("micro average", micro)]));
}
