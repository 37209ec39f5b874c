import { test } from "uvu";
import * as assert from "uvu/assert";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { fingerprint, statesFingerprint } from "../../src/model/fingerprint.ts";
import { referenceNames } from "../support/reference-names.ts";
import {
  randomIds,
  randomWeights,
  TINY_MODELS,
  type TinyChanges,
  tinyConfig,
  withChanges,
} from "../support/tiny-model.ts";

const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 1, retrievalHead: 2, heads: 3 });
const weights = randomWeights(config, "fingerprint");
const tokenizer = Buffer.from("spiece");

/** Every weight in parts of 7 values, which end inside the rows of the retrieval head. */
const partsOf = (all: ReadonlyMap<string, Float32Array>) =>
  function* (name: string): Generator<Float32Array> {
    const values = all.get(name)!;
    for (let start = 0; start < values.length; start += 7) yield values.subarray(start, start + 7);
  };
const original = await fingerprint(config, partsOf(weights), tokenizer);

/** The weights of a model for one that divides the same layers otherwise. */
function movedWeights(
  weights: ReadonlyMap<string, Float32Array>,
  model: ModelConfig,
  divided: ModelConfig,
): Map<string, Float32Array> {
  const ours = new Map([...referenceNames(model)].map(([name, inForm]) => [inForm, name]));
  return new Map(
    [...referenceNames(divided)].map(([name, inForm]) => [name, weights.get(ours.get(inForm)!)!]),
  );
}

/** The fingerprint after one value of a weight has changed. */
function after(name: string, at: number): Promise<string> {
  const values = weights.get(name)!.slice();
  values[at]! += 1;
  return fingerprint(config, partsOf(new Map(weights).set(name, values)), tokenizer);
}

test("a fingerprint is 64 hexadecimal digits and equal for equal models", async () => {
  assert.match(original, /^[0-9a-f]{64}$/);
  const whole = (name: string) => [weights.get(name)!];
  assert.is(await fingerprint(config, whole, Buffer.from("spiece")), original);
});

test("the fingerprint depends on exactly the weights that passage keys depend on", async () => {
  const key = "joint.0.layer.0.layer.0.SelfAttention.k.weight";
  const headRows = 2 * 6 * config.modelSize;
  for (const [name, values] of weights) {
    const determines =
      name === "embedding.weight" ||
      name.startsWith("shared.0.") ||
      name === "joint.0.layer.0.layer.0.layer_norm.weight" ||
      name === key;
    assert.is((await after(name, values.length - 1)) !== original, determines, name);
  }
  assert.is((await after(key, headRows)) === original, false);
  assert.is(await after(key, headRows - 1), original);
});

test("the fingerprint depends on the tokenizer and on the relevant configuration", async () => {
  const parts = partsOf(weights);
  assert.is.not(await fingerprint(config, parts, Buffer.from("Spiece")), original);
  const changed = async (changes: TinyChanges) => {
    const other = withChanges(config, changes);
    const moved = partsOf(movedWeights(weights, config, other));
    return (await fingerprint(other, moved, tokenizer)) !== original;
  };
  assert.ok(await changed({ layerNormEpsilon: 1e-5 }));
  assert.ok(await changed({ relativeMaxDistance: 100 }));
  assert.ok(await changed({ eosId: 2 }));
  assert.ok(await changed({ retrievalHead: 1 }));
  assert.ok(await changed({ retrievalLayer: 2 }));
  assert.ok(await changed({ similarity: "cosine" }));
  assert.not(await changed({ similarity: "dot" }));
  assert.ok(await changed({ retrievalHead: 1, retrievalHeads: 2 }));
  assert.not(await changed({ queryEncoder: true }));
  assert.not(await changed({ tokenWeights: true }));
  assert.not(await changed({ hybrid: { lambda: 1, k1: 0.9, b: 0.4 } }));
  assert.not(
    await changed({ dropoutRate: 0.5, retrievalScale: 3, distillationTau: 1, decoderStartId: 5 }),
  );
});

test("with two retrieval heads, it depends on the rows of both", async () => {
  const two = withChanges(config, { retrievalHead: 1, retrievalHeads: 2 });
  const key = "joint.0.layer.0.layer.0.SelfAttention.k.weight";
  const ofHead = 6 * config.modelSize;
  const hashes = new Set<string>();
  for (const at of [undefined, 0, ofHead - 1, ofHead, 2 * ofHead, 3 * ofHead - 1]) {
    const values = weights.get(key)!.slice();
    if (at !== undefined) values[at]! += 1;
    hashes.add(await fingerprint(two, partsOf(new Map(weights).set(key, values)), tokenizer));
  }
  assert.is(hashes.size, 4); // the first head is none of them
});

test("products of integers round activations: the fingerprint is another one", async () => {
  const parts = partsOf(weights);
  const integers = await fingerprint(config, parts, tokenizer, { integers: true });
  assert.is.not(integers, original);
  assert.is(await fingerprint(config, parts, tokenizer, { integers: false }), original);
});

test("a model without lower layers has a fingerprint", async () => {
  const shallow = tinyConfig({ retrievalLayer: 0 });
  assert.match(
    await fingerprint(shallow, partsOf(randomWeights(shallow, 1)), tokenizer),
    /^[0-9a-f]{64}$/,
  );
});

for (const name of ["v1.1", "joint layers", "backbone and a block"])
  test(`${name}: other states for reading have another fingerprint`, async () => {
    const model = TINY_MODELS[name]!;
    const original = randomWeights(model, "states");
    const ids = [randomIds(model, 9, "states")];
    const measure = async (config: ModelConfig, weights: ReadonlyMap<string, Float32Array>) => {
      await using encoder = await openRetrieverSession(config, { weights });
      const [states] = await encodeSequences(encoder, config, ids, "reading");
      const ofKeys = await fingerprint(config, (part) => [weights.get(part)!], tokenizer);
      return { states: states!.join(), fingerprint: statesFingerprint(config, ofKeys) };
    };
    const before = await measure(model, original);
    let changed = 0;
    for (const [weight, values] of original) {
      const more = new Map(original).set(
        weight,
        values.map((value) => value + 0.5),
      );
      const after = await measure(model, more);
      if (after.states === before.states) continue;
      changed++;
      assert.is.not(after.fingerprint, before.fingerprint, weight);
    }
    assert.ok(changed > 5, `${changed} weights change the states`);
  });
test.run();
