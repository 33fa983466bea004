// Runs weft's engine, a WebAssembly module, in a browser or in node. weft page puts this file into each page, and the
// npm package contains it.

const utf8 = new TextDecoder();

const byProbability = (a, b) => b.probability - a.probability;

// The functions that the module imports. They give it a clock, no environment variables and no files.
function systemOf(module, memory) {
  const noSuchFunction = 52;  // ENOSYS; Emscripten's own functions return it with a minus sign
  const known = {
    clock_time_get: (clock, precision, time) => {
      new DataView(memory().buffer).setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    environ_sizes_get: (count, bytes) => {
      const view = new DataView(memory().buffer);
      view.setUint32(count, 0, true);
      view.setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    emscripten_notify_memory_growth: () => {},
    proc_exit: () => {
      throw new Error("weft's engine stopped");
    },
  };
  const system = {};
  for (const { module: space, name } of WebAssembly.Module.imports(module)) {
    system[space] ??= {};
    system[space][name] = known[name] ?? (() => (space === "env" ? -noSuchFunction : noSuchFunction));
  }
  return system;
}

// A module with one function that uses a vector: (v128.const 0, drop).
const vectors = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12,
  ...new Array(16).fill(0), 26, 11];

/** The engine. Models that it loads share its memory. */
export class Engine {
  /** Makes an engine from the bytes of weft-page.wasm. */
  static async make(bytes) {
    let module;
    try {
      module = await WebAssembly.compile(bytes);
    } catch (error) {
      if (WebAssembly.validate(new Uint8Array(vectors))) throw error;
      throw new Error("This browser does not support WebAssembly's vectors. A page works without them if it is made with " +
        "the engine of build-wasm-scalar (weft page --engine FILE).");
    }
    const engine = new Engine();
    const instance = await WebAssembly.instantiate(module, systemOf(module, () => engine.calls.memory));
    engine.calls = instance.exports;
    engine.calls._initialize();
    return engine;
  }

  get version() {
    return this.text(this.calls.version());
  }

  /** Loads the bytes of a checkpoint's model.safetensors. */
  load(bytes) {
    const copy = this.store(bytes);
    const handle = this.calls.load(copy, bytes.length);
    this.calls.release(copy);
    return new Model(this, this.checked(handle));
  }

  // Copies bytes into the module's memory, followed by a zero byte. The caller must release the result.
  store(bytes) {
    const block = this.calls.allocate(bytes.length + 1);
    if (block === 0) throw new Error("not enough memory");
    const memory = new Uint8Array(this.calls.memory.buffer, block, bytes.length + 1);
    memory.set(bytes);
    memory[bytes.length] = 0;
    return block;
  }

  // Calls use(pointer) with a text in the module's memory.
  withText(text, use) {
    const block = this.store(new TextEncoder().encode(text));
    try {
      return use(block);
    } finally {
      this.calls.release(block);
    }
  }

  text(pointer) {
    const memory = new Uint8Array(this.calls.memory.buffer);
    return utf8.decode(memory.subarray(pointer, memory.indexOf(0, pointer)));
  }

  // Throws the module's error if the result of a call is null.
  checked(result) {
    if (result === 0) throw new Error(this.text(this.calls.error()));
    return result;
  }
}

/** A loaded model. */
export class Model {
  constructor(engine, handle) {
    this.engine = engine;
    this.handle = handle;
    /** What the model is: architecture, task, tokenizer, labels, … */
    this.info = JSON.parse(engine.text(engine.checked(engine.calls.describe(handle))));
  }

  /** Frees the model's memory. */
  free() {
    this.engine.calls.free_model(this.handle);
    this.handle = 0;
  }

  /** Returns the number of a text's tokens, and the texts of the first `limit` of them. */
  tokenize(text, limit = 2 ** 31) {
    const { engine, handle } = this;
    return JSON.parse(engine.withText(text, (pointer) =>
      engine.text(engine.checked(engine.calls.tokenize(handle, pointer, limit)))));
  }

  /** Returns the label and the probability of each class, the most probable class first. */
  classify(text) {
    const { engine, handle, info } = this;
    const found = engine.withText(text, (pointer) => engine.checked(engine.calls.classify(handle, pointer)));
    const probabilities = new Float64Array(engine.calls.memory.buffer, found, info.outputs);
    return Array.from(probabilities, (probability, i) => ({ label: info.labels[i] ?? String(i + 1), probability })).sort(byProbability);
  }

  /** Continues the prompt. Yields the text of each new symbol, which may be empty. */
  *symbols(prompt, { tokens = 200, temperature = 1, topK = 0, topP = 1, seed = 1 } = {}) {
    const { engine, handle } = this;
    const { calls } = engine;
    const generation = engine.withText(prompt, (pointer) =>
      engine.checked(calls.generate(handle, pointer, tokens, temperature, topK, topP, seed)));
    const place = calls.allocate(4);
    const decoder = new TextDecoder();  // with the tokenizer "bytes", a symbol may be a part of a character
    try {
      for (;;) {
        const size = calls.next(generation, place);
        if (size === -2) engine.checked(0);
        if (size === -1) break;
        const begin = new DataView(calls.memory.buffer).getUint32(place, true);
        yield decoder.decode(new Uint8Array(calls.memory.buffer, begin, size), { stream: true });
      }
    } finally {
      calls.release(place);
      calls.free_generation(generation);
    }
    const rest = decoder.decode();
    if (rest !== "") yield rest;
  }
}
