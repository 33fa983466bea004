// Tagged words: the scores of each type of span, and sentences with true and predicted spans.

function spanFigures(figureData) {
  const {types, micro, sentences, right, rows} = figureData, typed = figureData.spans;
  if (types.length === 0)
    return [html("p", {class: "note"}, "The validation rows have no spans, and the model predicts none.")];
  const line = (name, s) => [name, percent(s.precision), percent(s.recall), percent(s.f1), format(s.support),
    format(s.predicted)];
  const what = typed ? "A predicted span counts as right if its type, its first word and its last word are right." :
                       "A word counts as right if its tag is.";
  const table = staticFigure(typed ? "Scores of the spans" : "Scores of the tags",
    `Over ${rowsShown(figureData)}. ${what} ${format(right)} of ${format(rows)} rows have no mistake.`,
    numberTable([typed ? "type" : "tag", "precision", "recall", "F1", "support", "predicted"],
      [...types.map((type) => line(type.type, type)), line("micro average", micro)]));
  if (sentences.length === 0) return [table];
  const note = "Validation rows, those with mistakes first. Green is right. Red is predicted, but not true. A dashed " +
    "line is true, but not predicted. Rows without mistakes are shown once.";
  return [table, html("div", {}, html("h3", {}, "Examples"), html("p", {class: "muted"}, note),
    html("ul", {class: "examples"}, ...sentences.map((sentence) => html("li", {}, ...sentenceLines(sentence, typed)))))];
}

function sentenceLines({words, cut, actual, predicted}, typed) {
  const has = (list, [begin, end, type]) => list.some((span) => span[0] === begin && span[1] === end && span[2] === type);
  const isRight = actual.length === predicted.length && actual.every((span) => has(predicted, span));
  // Correct tags of single words would only hide the wrong ones.
  const shown = (spans, others) => (typed || isRight ? spans : spans.filter((span) => !has(others, span)));
  const line = (name, spans, others, wrong) => html("div", {class: "tagged"}, html("span", {class: "muted"}, name),
    html("span", {}, ...markedWords(words, shown(spans, others), (span) => (has(others, span) ? "right" : wrong)),
      cut ? " …" : ""));
  if (isRight) return [line("both", actual, predicted, "")];
  return [line("true", actual, predicted, "missed"), line("predicted", predicted, actual, "wrong")];
}

// The words, with each span marked. Spans don't overlap, and come in order.
function markedWords(words, spans, kind) {
  const parts = [];
  let at = 0;
  const plain = (end) => {
    if (end > at) parts.push(words.slice(at, end).join(" ") + " ");
    at = Math.max(at, end);
  };
  for (const span of spans) {
    plain(span[0]);
    const title = {right: "right", wrong: "predicted, but not true", missed: "true, but not predicted"}[kind(span)];
    parts.push(html("mark", {class: kind(span), title}, words.slice(span[0], span[1]).join(" "), html("sub", {}, span[2])),
      " ");
    at = span[1];
  }
  plain(words.length);
  return parts;
}
