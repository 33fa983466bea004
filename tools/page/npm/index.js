// Loads models of weft, and runs them in a browser or in node. index.d.ts describes the functions.
import { Engine } from "./engine.js";

const pause = 16;  // milliseconds of computation after which other code may run

async function engineFile() {
  const url = new URL("./weft-page.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`can't load ${url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

let made;  // the promise of the engine, which all models share
const engine = () => (made ??= engineFile().then((bytes) => Engine.make(bytes)));

export class Model {
  #model;

  constructor(model) {
    this.#model = model;
    this.info = Object.freeze(model.info);
  }

  async tokenize(text) {
    return this.#model.tokenize(text).texts;
  }

  async classify(text) {
    return this.#model.classify(text);
  }

  async *generate(prompt, options = {}) {
    let resumed = performance.now();
    for (const text of this.#model.symbols(prompt, options)) {
      yield text;
      if (performance.now() - resumed < pause) continue;
      await new Promise((resume) => setTimeout(resume, 0));
      resumed = performance.now();
    }
  }

  free() {
    this.#model.free();
  }
}

export async function load(bytes) {
  const given = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  return new Model((await engine()).load(given));
}
