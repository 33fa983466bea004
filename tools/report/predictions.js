// What a model predicts for the validation rows: one file for each kind of figure.

function predictionBlock(predictions) {
  const make = {
    precision_recall: precisionRecallFigures,
    residuals: residualFigures,
    spans: spanFigures,
    forecasts: forecastFigures,
    pictures: pictureFigures,
    retrieval: retrievalFigures
  };
  return (predictions ?? []).flatMap((each) => make[each.kind](each));
}

// "the 60 validation rows", or which part of them.
function rowsShown({rows, of}, what = "validation rows") {
  return rows < of ? `${format(rows)} of the ${format(of)} ${what}, evenly spaced` : `the ${format(rows)} ${what}`;
}

// A table whose first column names the line. `head`: the names of the columns; `lines`: their cells.
function numberTable(head, lines) {
  return html("div", {class: "scroll tall"},
    html("table", {},
      html("thead", {},
        html("tr", {}, ...head.map((name, i) => html("th", {scope: "col", class: i === 0 ? "" : "number"}, name)))),
      html("tbody", {},
        ...lines.map(([name, ...cells]) => html("tr", {}, html("th", {scope: "row"}, runName(name)),
          ...cells.map((cell) => html("td", {class: "number"}, cell)))))));
}
