// A picture of how each layer of the model mixes the tokens of a text: a table with a row for each output and a column
// for each token that it depends on. `data.mixing` has the layers' weights for the first tokens of a text
// (report/learned.h).

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
      "layer's Toeplitz coefficients for the distance i − j, over all channels.",
    weights: ({ rms }, { causal, length }) => {
      const zero = causal ? 0 : length - 1;
      return { at: (i, j) => rms[zero + i - j] ?? NaN, limit: Math.max(...rms) };
    },
  },
  fourier: {
    meaning: "FNet mixes the tokens with a Fourier transform, which has no weights. The color of row i and column j shows " +
      "its real part, cos(2πij/n), for a text of n tokens. Each output depends on all tokens.",
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

// Shows the picture, and returns a function that draws it again for another text. The function does nothing if the model
// has no picture.
function showMixing(model, mixing) {
  if (mixing === null || mixing.layers?.length === 0) return () => {};
  const { meaning, weights } = mixers[mixing.kind];
  const layers = mixing.layers ?? [{}];
  let tokens = [];
  const draw = () => {
    const shown = tokens.slice(0, mixing.length);
    const layer = layers[at("layer").value];
    at("table").replaceChildren(...(shown.length === 0 ? [] : [mixingTable(shown, weights(layer, mixing, tokens.length))]));
    at("shown").textContent = shown.length < tokens.length ? `These are the first ${shown.length} of ${tokens.length} tokens.` : "";
  };
  at("layer").append(...layers.map((_, i) => new Option(`Layer ${i + 1}`, i)));
  at("layer").parentElement.hidden = layers.length === 1;
  at("layer").addEventListener("change", draw);
  at("meaning").textContent = `${meaning} Blue is positive, red is negative. Point at a cell to see its number.`;
  at("mixing").hidden = false;
  return (text) => {
    tokens = model.tokenize(text);
    draw();
  };
}
