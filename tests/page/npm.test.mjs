// Tests of the npm package with the fixtures, which other builds of weft wrote.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { pathToFileURL } from "node:url";

const { load } = await import(pathToFileURL(`${process.env.WEFT_NPM}/index.js`));
const fixture = (name) => readFile(`${process.env.WEFT_FIXTURES}/${name}`);
const model = async (name) => load(await fixture(`${name}/model.safetensors`));

async function generated(model, prompt, options) {
  let text = prompt;
  for await (const more of model.generate(prompt, options)) text += more;
  return text;
}

for (const name of ["gmlp-causal-lm", "gmlp-tied", "tnn-causal-lm", "tnn-options"])
  test(`${name} continues a text as on other processors`, async () => {
    const writer = await model(name);
    assert.equal(writer.info.task, "causal-lm");
    const expected = (await fixture(`${name}/continued`)).toString();
    assert.equal(await generated(writer, "5 plus", { tokens: 48, temperature: 0 }) + "\n", expected);
    writer.free();
  });

// As "weft classify" printed them on x86-64.
const expected = {
  "gmlp-classifier": { 1: 0.2167, 2: 0.4191, 3: 0.3642 },
  "tnn-classifier": { 1: 0.0695, 2: 0.5443, 3: 0.3863 },
  "fnet-classifier": { 1: 0.2789, 2: 0.3521, 3: 0.3690 },
};
for (const [name, classes] of Object.entries(expected))
  test(`${name} classifies as on other processors`, async () => {
    const found = await (await model(name)).classify("the sum 7 plus 5");
    assert.deepEqual(found.map(({ label }) => label), Object.keys(classes).sort((a, b) => classes[b] - classes[a]));
    for (const { label, probability } of found) assert.ok(Math.abs(probability - classes[label]) < 1e-3, label);
  });

test("tokens have the texts that the tokenizer gives them", async () => {
  const writer = await model("gmlp-causal-lm");
  assert.deepEqual(await writer.tokenize("5 plus"), ["5", " ", "p", "l", "u", "s"]);
  assert.deepEqual(await writer.tokenize(""), []);
  const classifier = await model("gmlp-classifier");
  assert.deepEqual(await classifier.tokenize("the sum 7"), ["the", "sum", "7"]);
});

test("samples depend on the seed and on the options alone", async () => {
  const writer = await model("gmlp-causal-lm");
  const options = { tokens: 30, temperature: 2, seed: 5 };
  const text = await generated(writer, "5 plus", options);
  assert.equal(await generated(writer, "5 plus", options), text);
  assert.notEqual(await generated(writer, "5 plus", { ...options, seed: 6 }), text);
  assert.notEqual(await generated(writer, "5 plus", { ...options, topK: 1 }), text);
  assert.notEqual(await generated(writer, "5 plus", { ...options, topP: 0.1 }), text);
});

test("a loop that ends early frees its text, and texts take turns", async () => {
  const writer = await model("tnn-causal-lm");
  const whole = await generated(writer, "5 plus", { tokens: 40 });
  const slow = writer.generate("5 plus", { tokens: 40 });
  let text = "5 plus";
  for await (const more of slow) {
    text += more;
    for await (const other of writer.generate("6 plus", { tokens: 40 })) if (other !== "") break;
  }
  assert.equal(text, whole);
});

test("errors name what was expected", async () => {
  await assert.rejects(load(new Uint8Array(10)), /safetensors/);
  const classifier = await model("gmlp-classifier");
  const writer = await model("gmlp-causal-lm");
  await assert.rejects(writer.classify("5"), /expected a classifier/);
  await assert.rejects(generated(classifier, "5"), /classifier/);
  await assert.rejects(generated(writer, "5", { topP: 0 }), /top_p above 0/);
});
