// Classified pictures: the mistakes in which the model is most confident, and some that are right.

function pictureFigures({labels, wrong, right, pictures}) {
  const isRight = (each) => each.actual === each.predicted, shown = pictures.filter((each) => !isRight(each)).length;
  const card = (each) => html("li", {class: isRight(each) ? "right" : "wrong"}, pixels(each.picture),
    html("div", {}, isRight(each) ? "✓ " : "✗ ", html("b", {}, labels[each.predicted]), ` ${percent(each.probability)}`),
    html("div", {class: "muted"}, "label: " + labels[each.actual]));
  const mistakes = wrong === 0 ? "None is predicted wrongly." :
    shown < wrong ? `First come the ${shown} of ${format(wrong)} mistakes (red) in which the model is most confident.` :
                    `First come the mistakes (red), the most confident ones before the others.`;
  return [staticFigure("Pictures and predictions",
    `${format(right)} of ${format(right + wrong)} validation pictures are classified correctly. ${mistakes} Green ` +
      "pictures are right, and evenly spaced. Each has the predicted label with its probability, and the true label.",
    html("div", {}, html("ul", {class: "pictures"}, ...pictures.map(card))))];
}
