/** What a model is. */
export interface Info {
  /** "gmlp", "tnn" or "fnet" */
  readonly architecture: string;
  /** "classifier", "causal-lm", … */
  readonly task: string;
  /** "words", "characters", … */
  readonly tokenizer: string;
  /** The precision of the computation: "f32" or "bf16". */
  readonly precision: string;
  /** The format of the model's matrices: "f32", "bf16" or "int8". */
  readonly stored: string;
  /** The number of elements in all parameters. */
  readonly parameters: number;
  /** The number of symbols. */
  readonly vocabulary: number;
  /** The number of outputs: symbols of the vocabulary, or classes. */
  readonly outputs: number;
  /** The names of the outputs; empty for a language model. */
  readonly labels: readonly string[];
}

/** A class, and the probability that it is the class of the text. */
export interface Prediction {
  label: string;
  probability: number;
}

/** How to continue a text. */
export interface GenerateOptions {
  /** Maximum number of symbols; default 200. */
  tokens?: number;
  /** Divides the logits; 0: always the most probable symbol; default 1. */
  temperature?: number;
  /** Samples from the k most probable symbols; 0: from all; default 0. */
  topK?: number;
  /** Samples from the most probable symbols whose probabilities add up to topP; default 1. */
  topP?: number;
  /** The same model, prompt, options and seed give the same text; default 1. */
  seed?: number;
}

/** A loaded model. Each function throws an Error whose message says what it expected and what it got. */
export class Model {
  readonly info: Info;
  /** Returns the text of each token of a text. */
  tokenize(text: string): Promise<string[]>;
  /** Returns the probability of each class, the most probable class first. The model must be a classifier. */
  classify(text: string): Promise<Prediction[]>;
  /**
   * Continues the prompt. Yields the text of each new symbol, which may be empty. To stop, leave the loop. Other code
   * runs between symbols at least every few milliseconds. The model must be a causal language model.
   */
  generate(prompt: string, options?: GenerateOptions): AsyncGenerator<string, void, void>;
  /** Frees the model's memory. The model can't be used afterwards. */
  free(): void;
}

/** Loads a model from the bytes of a checkpoint's model.safetensors. */
export function load(bytes: Uint8Array | ArrayBuffer): Promise<Model>;
