// A picture of how each layer of the model mixes the tokens of a text: a table with a row for each output and a column
// for each token that it depends on. `data.mixing` has the layers' weights for the first tokens of a text
// (page_command.cpp).

// For each architecture: what the picture shows, and a function that returns the weight of token j in output i for a
// text of n tokens.
const mixers = {
  gating: {
    meaning: "The color of row i and column j shows the weight of token j in the gate of token i: the layer's learned " +
      "matrix of spatial weights.",
    weights: ({ matrix }) => {
      const grid = decodeGrid(matrix);
      return { at: (i, j) => grid.at(i, j), limit: usualLimit(grid.values) };
    },
  },
  toeplitz: {
    meaning: "The color of row i and column j shows how strongly token j enters output i: the root mean square of the " +
      "layer's Toeplitz coefficients for the distance i − j, over all channels, before any normalization.",
    weights: ({ rms }, { causal, length }) => {
      const zero = causal ? 0 : length - 1;
      return { at: (i, j) => rms[zero + i - j] ?? NaN, limit: Math.max(...rms) || 1 };
    },
  },
  fourier: {
    meaning: "FNet mixes the tokens with a Fourier transform, which has no weights. The color of row i and column j shows " +
      "its real part, cos(2πij/n), for a sequence of n tokens. Each output depends on all tokens.",
    weights: (layer, mixing, n) => ({ at: (i, j) => Math.cos(2 * Math.PI * i * j / n), limit: 1 }),
  },
};

// A token as the picture shows it.
const visible = (token) => token.replace(/ /g, "␣").replace(/\n/g, "⏎") || "∅";

function cell(weight, limit, title) {
  if (Number.isNaN(weight)) return element("td", "");
  const made = element("td", weight < 0 ? "negative" : "positive");
  made.style.opacity = Math.min(1, Math.abs(weight) / limit);
  made.title = `${title}: ${weight.toPrecision(3)}`;
  return made;
}

function mixingTable(tokens, { at, limit }) {
  const heading = (tag, token) => element(tag, "", element("span", "", visible(token)));
  const head = element("tr", "", element("th", ""), ...tokens.map((token) => heading("th", token)));
  const rows = tokens.map((to, i) => element("tr", "", heading("th", to),
    ...tokens.map((from, j) => cell(at(i, j), limit, `${visible(to)} ← ${visible(from)}`))));
  return element("table", "", element("thead", "", head), element("tbody", "", ...rows));
}

// Returns the first tokens that the model reads for a text, their number, and the number with padding. The rows of a
// classifier have special tokens at their ends and a maximum length.
function sequenceOf(model, text, { length, row }) {
  const { count, texts } = model.tokenize(text, length);
  if (row === undefined) return { tokens: texts, count, padded: count };
  const begin = row.first === null ? [] : [row.first], end = row.last === null ? [] : [row.last];
  const kept = Math.min(count, row.length - begin.length - end.length);
  const tokens = [...begin, ...texts.slice(0, kept), ...(kept <= texts.length ? end : [])].slice(0, length);
  const all = begin.length + kept + end.length;
  return { tokens, count: all, padded: Math.max(all, row.pad_to) };
}

// Shows the picture, and returns a function that draws it again for another text. The function does nothing if the model
// has no picture.
function showMixing(model, mixing) {
  if (mixing === null) return () => {};
  const { meaning, weights } = mixers[mixing.kind];
  const layers = mixing.layers ?? [{}];
  let sequence = { tokens: [] };
  const draw = () => {
    const { tokens, count, padded } = sequence;
    const weight = weights(layers[at("layer").value], mixing, padded);
    at("table").replaceChildren(...(tokens.length === 0 ? [] : [mixingTable(tokens, weight)]));
    at("shown").textContent = tokens.length < count ? `These are the first ${tokens.length} of ${count} tokens.` : "";
  };
  at("layer").append(...layers.map((_, i) => new Option(`Layer ${i + 1}`, i)));
  at("layer").parentElement.hidden = layers.length === 1;
  at("layer").addEventListener("change", draw);
  at("meaning").textContent = `${meaning} Blue is positive, red is negative. Point at a cell to see its number.`;
  at("mixing").hidden = false;
  return (text) => {
    sequence = sequenceOf(model, text, mixing);
    draw();
  };
}
