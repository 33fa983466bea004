// The page of weft page. It follows engine.js in the same script. All text becomes text nodes, so that a label or a
// generated text can't be markup. A text after "#" in the page's address is used at once.

const shown = 12;       // the labels with the highest probabilities
const pause = 16;       // milliseconds of computation after which the browser may draw and react
const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);

function say(state, message = "") {
  document.documentElement.dataset.state = state;
  at("error").textContent = message;
  at("error").hidden = message === "";
}

const bytesIn = (id) => Uint8Array.from(atob(at(id).textContent), (c) => c.charCodeAt(0));

async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function load() {
  const engine = await Engine.make(await unpacked(bytesIn("engine")));
  if (engine.version !== data.version)
    throw new Error(`The page was made by weft ${data.version}, but its engine is weft ${engine.version}.`);
  return engine.load(bytesIn("model"));
}

function element(tag, name, ...children) {
  const made = document.createElement(tag);
  made.className = name;
  made.append(...children);
  return made;
}

function row({ label, probability }) {
  const share = `${(100 * probability).toFixed(1)} %`;
  const bar = element("span", "bar");
  bar.style.width = share.replace(" ", "");
  const name = element("span", "name", label);
  name.title = label;
  return element("li", "", name, element("span", "track", bar), element("span", "share", share));
}

function showClassifier(model, text, drawMixing) {
  const update = () => {
    say("ready");
    try {
      const start = performance.now();
      const classes = at("text").value.trim() === "" ? [] : model.classify(at("text").value);
      at("took").textContent = classes.length === 0 ? "" : `${(performance.now() - start).toFixed(1)} ms`;
      at("bars").replaceChildren(...classes.slice(0, shown).map(row));
      drawMixing(at("text").value);
    } catch (error) {
      at("bars").replaceChildren();
      say("refused", error.message);
    }
  };
  at("text").addEventListener("input", update);
  at("text").value = text;
  at("classifier").hidden = false;
  update();
}

const rest = () => new Promise((resume) => setTimeout(resume, 0));

// Generates text until it ends or `stopped()` is true. Lets the browser draw every few milliseconds.
async function write(model, prompt, settings, stopped) {
  const start = performance.now();
  let symbols = 0;
  let resumed = start;
  let waiting = "";
  const show = () => {
    at("added").append(waiting);
    waiting = "";
    const seconds = (performance.now() - start) / 1000;
    at("speed").textContent = `${symbols} symbols, ${Math.round(symbols / seconds)} per second`;
  };
  for (const text of model.symbols(prompt, settings)) {
    waiting += text;
    ++symbols;
    if (performance.now() - resumed < pause) continue;
    show();
    await rest();
    if (stopped()) break;
    resumed = performance.now();
  }
  show();
}

function showWriter(model, text, drawMixing) {
  let stopping = false;
  const number = (id) => at(id).valueAsNumber;
  const begin = async () => {
    if (at("write").disabled) return;
    stopping = false;
    at("write").disabled = true;
    at("stop").disabled = false;
    at("given").textContent = at("prompt").value;
    at("added").replaceChildren();
    say("writing");
    try {
      const settings = { tokens: number("tokens"), temperature: number("temperature"), seed: number("seed") };
      await write(model, at("prompt").value, settings, () => stopping);
      say("ready");
    } catch (error) {
      say("refused", error.message);
    }
    at("write").disabled = false;
    at("stop").disabled = true;
  };
  at("settings").addEventListener("submit", (event) => {
    event.preventDefault();
    begin();
  });
  const look = () => {
    try {
      drawMixing(at("prompt").value);
      if (!at("write").disabled) say("ready");
    } catch (error) {
      say("refused", error.message);
    }
  };
  at("stop").addEventListener("click", () => (stopping = true));
  at("prompt").addEventListener("input", look);
  at("prompt").value = text;
  at("writer").hidden = false;
  look();
  if (text !== "") begin();
}

function textInAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

try {
  at("title").textContent = data.title;
  const model = await load();
  const { architecture, parameters } = model.info;
  at("about").textContent = `${data.kind} (${architecture}, ${parameters.toLocaleString("en")} parameters). ` +
    "It runs in this page: your text stays on this device.";
  const show = model.info.task === "classifier" ? showClassifier : showWriter;
  show(model, textInAddress(), showMixing(model, data.mixing));
} catch (error) {
  at("about").textContent = "";
  say("failed", error.message);
}
