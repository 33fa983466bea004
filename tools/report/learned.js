// What the layers have learned, in figures like those of the papers.

function learnedBlock(learned) {
  const make = {gating: gatingFigures, toeplitz: toeplitzFigures, fourier: fourierFigures};
  return learned === null || learned.layers.length === 0 ? [] : make[learned.kind](learned);
}

const layerName = (i) => `Layer ${i + 1}`;

// A color for each layer, from the first to the last.
function layerLines(layers, xs, ys) {
  return layers.map((layer, i) => ({
    name: layerName(i),
    colour: runColour(i),
    dash: runDash(i),
    key: i < 8 ? "key" : "key dashed",
    xs,
    ys: ys(layer),
    width: 1.8
  }));
}

const layerLegend = (layers) => legend(layers.map((_, i) => ({key: runKey(i), name: layerName(i)})));

function pooledNote(grid) {
  const cells = grid.row_pool * grid.column_pool;
  return cells > 1 ? ` A cell is the mean of ${grid.row_pool} × ${grid.column_pool}.` : "";
}

// The part of a random matrix's variance that the means of its diagonals explain.
function toeplitzByChance(length, causal) {
  const weights = causal ? length * (length + 1) / 2 : length * length, diagonals = causal ? length : 2 * length - 1;
  return weights > 1 ? (diagonals - 1) / (weights - 1) : 1;
}

function gatingFigures({layers, length, causal, distances}) {
  const axis = {from: 0, to: length};
  const plots = layers.map((layer, i) => {
    const grid = decodeGrid(layer.matrix), limit = usualLimit(grid.values);
    return matrixPlot({
      grid,
      limit,
      x: {label: "from token j", ...axis},
      y: {label: "to token i", ...axis},
      caption: `${layerName(i)}, colors to ±${format(Number(limit.toPrecision(2)))}, ${
        percent(layer.toeplitz_share)} Toeplitz`,
      value: "W"
    });
  });
  const shades = ["negative", "positive"];
  return [
    figure("Spatial gating matrices",
      "W[i, j] of each layer's spatial gating unit: how much token j adds to the gate of token i. All began within " +
        "±0.01." +
        (causal ? " The model sees no later tokens: elements above the diagonal aren't used." : "") +
        " Toeplitz: the part of W's variance that depends only on i − j. For random weights it is " +
        percent(toeplitzByChance(length, causal)) + "." + pooledNote(layers[0].matrix),
      plots, {legend: rampLegend(shades, ["negative", "0", "positive"]), layout: "many"}),
    figure("How far gating looks",
      "The mean |W[i, j]| by the distance i − j. The layer takes its context from the distances where its line is high.",
      [lineChart(() => ({
        x: {label: causal ? "tokens back, i − j" : "i − j, in tokens"},
        y: {label: "mean |W|", log: true},
        series: layerLines(layers, distances, (layer) => layer.by_distance)
      }),
        {height: 0.4})],
      {legend: layerLegend(layers)}),
  ];
}

function toeplitzFigures({layers, lags, gamma, causal, length, channels, unit}) {
  const shown = layers[0].matrix.rows;
  const first = layers[0].rms[nearest(lags, 0)];
  const chart = () => {
    const series = layerLines(layers, lags, (layer) => layer.rms);
    if (gamma !== null && gamma < 1)
      series.push({
        name: "decay only",
        colour: "var(--muted)",
        dash: "6 4",
        width: 1.5,
        key: "key dashed",
        xs: lags,
        ys: lags.map((lag) => first * gamma ** Math.abs(lag))
      });
    return {x: {label: `lag, in ${unit}`}, y: {label: "root mean square", log: true}, series};
  };
  const decay = gamma !== null && gamma < 1 ?
    ` Dashed: only the decay γ^|lag|, γ = ${format(gamma)}, starting where layer 1 starts.` :
    "";
  const learned = layers[0].gammas ? " Learned decays γ (lowest, median, highest channel): " +
      layers.map((layer, i) => `${layerName(i).toLowerCase()}: ${layer.gammas.map(format).join(", ")}`).join("; ") +
      "." :
                                     "";
  const plots = layers.map((layer, i) => {
    const grid = decodeGrid(layer.matrix), limit = usualLimit(grid.values);
    return matrixPlot({
      grid,
      limit,
      x: {label: `lag, in ${unit}`, from: causal ? 0 : 1 - length, to: length},
      y: {label: "channel", from: 0, to: channels},
      caption: `${layerName(i)}, colors to ±${format(Number(limit.toPrecision(2)))}`,
      value: "coefficient"
    });
  });
  return [
    figure("Toeplitz coefficients over lags",
      "How much a token adds at this distance " + (causal ? "back" : "(positive: back)") +
        ": the root mean square over each layer's channels." + decay + learned,
      [lineChart(chart, {height: 0.42})], {legend: layerLegend(layers)}),
    figure("Toeplitz coefficients by channel",
      "The coefficients themselves, a row for each channel" +
        (shown < channels ? ` (${shown} of the ${channels}, evenly spaced)` : "") +
        ", sorted from the nearest to the farthest context." +
        pooledNote(layers[0].matrix),
      plots, {legend: rampLegend(["negative", "positive"], ["negative", "0", "positive"]), layout: "many"}),
  ];
}

function fourierFigures({layers, length, sequences}) {
  const measured = `Measured on ${sequences === 1 ? "one sequence" : sequences + " sequences"} of ${
    length} tokens from the validation data.`;
  const bars = html("div", {class: "bars"},
    ...layers.flatMap(
      (layer, i) => [["mixing", layer.mixing_share, "run0"], ["network", layer.network_share, "run4"]].flatMap(
        ([name, part, shade]) => [html("span", {}, `${layerName(i)}, ${name}`),
          html("span", {class: "bar"}, html("i", {style: `width:${100 * part}%;background:var(--${shade})`})),
          html("span", {}, percent(part))])));
  const frequencies = layers[0].by_frequency.map((_, k) => k);
  const spectrum = () => ({
    x: {label: `frequency, in cycles over ${length} tokens`},
    y: {label: "% of the squares", log: true, show: (v) => format(100 * v) + " %"},
    series: layerLines(layers, frequencies, (layer) => layer.by_frequency)
  });
  const axis = {from: 0, to: length};
  const plots = layers.map((layer, i) => {
    const grid = decodeGrid(layer.influence), limit = usualLimit(grid.values);
    return matrixPlot({
      grid,
      limit,
      shades: ["page", "amount"],
      x: {label: "token j replaced", ...axis},
      y: {label: "output i", ...axis},
      caption: `${layerName(i)}, colors to ${percent(limit)}`,
      show: percent,
      value: "change"
    });
  });
  return [
    staticFigure("What each layer adds",
      "FNet's mixing has no weights: its share in the sum with the layer's input shows how it is used. The bars show " +
        "the part of the squares that the Fourier mixing, or the feed-forward network, has in each of a layer's two " +
        "sums. The mixing " +
        "adds up all tokens and channels without scaling them down: it is large compared with the input. " + measured,
      bars),
    figure("Frequencies that the mixing finds",
      "The mixing puts the k-th frequency along the sequence at token k (and again at n − k). The curve shows the part of its " +
        "squares there. 0 is the sum of all tokens, the highest frequency a change at every token.",
      [lineChart(spectrum, {height: 0.4})], {legend: layerLegend(layers)}),
    figure("Which tokens an output depends on",
      "The relative change of a layer's output i when its input at token j is replaced with the " +
        "mean over all tokens." + pooledNote(layers[0].influence),
      plots, {legend: rampLegend(["page", "amount"], ["none", "much"]), layout: "many"}),
  ];
}
