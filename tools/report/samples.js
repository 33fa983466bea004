// Samples of a model: a text, filled-in symbols, or wrongly classified rows.

function sampleBlock(run) {
  const sample = run.sample;
  if (sample === null) return null;
  const make = {text: textSample, masked: maskedSample, confusion: confusionSample};
  return make[sample.kind](sample);
}

function textSample({text, tokens, temperature, seed}) {
  const note = `${format(tokens)} symbols that the model wrote without a prompt, each drawn from its probabilities at a ` +
    `temperature of ${temperature} (seed ${seed}).`;
  return html("div", {}, html("h3", {}, "A sample"), html("p", {class: "muted"}, note),
    html("div", {class: "sample"}, text));
}

// Makes an invisible symbol visible.
function shown(symbol) {
  return symbol === "\n" ? "⏎" : symbol.trim() === "" ? "␣" : symbol;
}

function maskedSample(sample) {
  const piece = ({text, given}) => {
    if (given === undefined) return text;
    if (given === text) return html("ins", {title: "right"}, text);
    const wrong = html("del", {title: `it was ${text}`}, shown(given));
    return html("span", {}, wrong, html("sub", {}, shown(text)));
  };
  const note = "Validation text in which the model predicted hidden symbols: " +
    `${format(sample.right)} of ${format(sample.masked)} are right (green); ` +
    "the small symbol beside a wrong one (red) is the original.";
  return html("div", {}, html("h3", {}, "Filled in"), html("p", {class: "muted"}, note),
    ...sample.windows.map((window) => html("div", {class: "sample"}, ...window.map(piece))));
}

function confusionSample(sample) {
  const list = html("ul", {class: "examples"}), heading = html("h3", {});
  const show = (pair) => {
    const chosen =
      sample.examples.filter((each) => pair === null || (each.actual === pair[0] && each.predicted === pair[1]));
    heading.textContent = pair === null ? "Errors in which the model was most confident" :
                                          `Label ${sample.labels[pair[0]]}, predicted as ${sample.labels[pair[1]]}`;
    list.replaceChildren(...chosen.slice(0, 8).map(
      (each) => html("li", {},
        html("div", {class: "muted"}, "label ", html("b", {}, sample.labels[each.actual]), ", predicted as ",
          html("b", {}, sample.labels[each.predicted]), ` with ${percent(each.probability)}`),
        each.picture ? pixels(each.picture) : each.text)));
    // "Pictures and predictions" shows the most confident errors.
    heading.hidden = list.hidden = pair === null && sample.examples.some((each) => each.picture);
    if (chosen.length === 0)
      list.append(
        html("li", {class: "muted"},
          pair !== null && pair[0] === pair[1] ? "These rows are classified correctly." : "None."));
  };
  show(null);
  const plot = confusionPlot(sample, show);
  const chart = figure("Confusion matrix",
    `The number of rows with each label (row) for which each label (column) was predicted, over ${rowsShown(sample)}: ${
      percent(sample.accuracy)} are right. Colors show shares of a row. A click on a cell shows its examples.`,
    [plot], {legend: rampLegend(["page", "amount"], ["0 % of the label", "100 %"])});
  return html("div", {}, html("div", {class: sample.labels.length <= 12 ? "pair" : ""}, chart, scoreTable(sample)),
    heading, list);
}

// A picture of gray or colored pixels, four times as large.
function pixels({height, width, channels, pixels}) {
  const canvas = html("canvas", {width, height, class: "pixels", style: `width: ${4 * width}px`});
  const bytes = Uint8Array.from(atob(pixels), (c) => c.charCodeAt(0)), image = new ImageData(width, height);
  for (let i = 0; i < width * height; ++i)
    for (let c = 0; c < 4; ++c)
      image.data[4 * i + c] = c === 3 ? 255 : bytes[i * channels + (channels >= 3 ? c : 0)];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function short(name, most) {
  return name.length > most ? name.slice(0, most - 1) + "…" : name;
}

function confusionPlot({labels, counts, scores}, choose) {
  const n = labels.length, values = new Float32Array(n * n);
  counts.forEach((row, i) => row.forEach((count, j) => {
    values[i * n + j] = scores[i].actual > 0 ? count / scores[i].actual : 0;
  }));
  const grid = {rows: n, columns: n, values, at: (i, j) => values[i * n + j]};
  let chosen = null;
  const draw = (width) => {
    const most = Math.max(3, Math.min(18, Math.floor(width / 28))),
          longest = Math.min(most, Math.max(...labels.map((name) => name.length)));
    const left = 12 + 7.2 * longest, top = 18, inner = Math.min(width - left - 12, 640), cell = inner / n,
          turned = longest * 7.2 > cell - 4;
    const bottom = turned ? 22 + longest * 5.4 : 22, height = Math.round(top + inner + bottom + 18);
    const root = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`});
    root.append(svg("image", {
      class: "mark",
      href: picture(grid, 1, ramp("page", "amount")),
      x: left,
      y: top,
      width: inner,
      height: inner,
      preserveAspectRatio: "none"
    }),
      svg("rect", {x: left, y: top, width: inner, height: inner, fill: "none", class: "rule"}),
      svg("text", {x: 0, y: 11}, "label"),
      svg("text", {x: left + inner / 2, y: height - 3, "text-anchor": "middle"}, "predicted label"));
    const every = Math.max(1, Math.ceil(13 / cell));
    labels.forEach((name, k) => {
      if (k % every !== 0) return;
      const x = left + (k + 0.5) * cell, y = top + inner + 15, text = short(name, most);
      root.append(svg("text", {x: left - 6, y: top + (k + 0.5) * cell + 4, "text-anchor": "end"}, text),
        turned ?
          svg("text", {x: x + 3, y: y - 3, "text-anchor": "end", transform: `rotate(-40 ${x + 3} ${y - 3})`}, text) :
          svg("text", {x, y, "text-anchor": "middle"}, text));
    });
    if (cell >= 30)
      counts.forEach((row, i) => row.forEach((count, j) => root.append(svg("text", {
        class: grid.at(i, j) > 0.5 ? "reverse" : "strong",
        x: left + (j + 0.5) * cell,
        y: top + (i + 0.5) * cell + 4,
        "text-anchor": "middle"
      },
                                               format(count)))));
    const mark = ([i, j]) =>
      svg("rect", {class: "cell", x: left + j * cell, y: top + i * cell, width: cell, height: cell});
    const find = (mouseX, mouseY) => {
      const at = [Math.floor((mouseY - top) / cell), Math.floor((mouseX - left) / cell)];
      return at.every((k) => k >= 0 && k < n) ? at : null;
    };
    if (chosen) root.append(mark(chosen));
    root.addEventListener("click", (event) => {
      const place = root.getBoundingClientRect(), found = find(event.clientX - place.left, event.clientY - place.top);
      chosen = found && chosen && found[0] === chosen[0] && found[1] === chosen[1] ? null : found;
      choose(chosen);
      drawAll();
    });
    return {
      svg: root,
      at: (mouseX, mouseY) => {
        const at = find(mouseX, mouseY);
        if (!at) return null;
        return {
          marks: [mark(at)],
          lines: [
            [null, "label", labels[at[0]]], [null, "predicted", labels[at[1]]],
            [null, "rows", format(counts[at[0]][at[1]])], [null, "of the label", percent(grid.at(...at))]
          ]
        };
      }
    };
  };
  return {draw};
}

function scoreTable({labels, scores, macro}) {
  const line = (name, s) => html("tr", {}, html("th", {scope: "row"}, runName(name)),
    ...[percent(s.precision), percent(s.recall), percent(s.f1), format(s.actual), format(s.predicted)].map(
      (cell) => html("td", {class: "number"}, cell)));
  const head = ["label", "precision", "recall", "F1", "rows", "predicted"];
  return html("div", {class: "scroll tall"},
    html("table", {},
      html("thead", {},
        html("tr", {}, ...head.map((name, i) => html("th", {scope: "col", class: i === 0 ? "" : "number"}, name)))),
      html("tbody", {}, ...labels.map((name, i) => line(name, scores[i])), line("macro average", macro))));
}
