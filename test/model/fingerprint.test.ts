import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ModelConfig } from "../../src/model/config.ts";
import { fingerprint } from "../../src/model/fingerprint.ts";
import { randomWeights, tinyConfig } from "../support/tiny-model.ts";

const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 1, retrievalHead: 2, heads: 3 });
const weights = randomWeights(config, "fingerprint");
const tokenizer = Buffer.from("spiece");
const original = fingerprint(config, weights, tokenizer);

/** The fingerprint after one value of a weight has changed. */
function after(name: string, at: number): string {
  const values = weights.get(name)!.slice();
  values[at]! += 1;
  return fingerprint(config, new Map(weights).set(name, values), tokenizer);
}

test("a fingerprint is 64 hexadecimal digits and equal for equal models", () => {
  assert.match(original, /^[0-9a-f]{64}$/);
  assert.is(fingerprint(config, new Map([...weights].reverse()), Buffer.from("spiece")), original);
});

test("the fingerprint depends on exactly the weights that passage keys depend on", () => {
  const key = "encoder.block.1.layer.0.SelfAttention.k.weight";
  const headRows = config.retrievalHead * config.headSize * config.modelSize;
  for (const [name, values] of weights) {
    const determines =
      name === "shared.weight" ||
      name.startsWith("encoder.block.0.") ||
      name === "encoder.block.1.layer.0.layer_norm.weight" ||
      name === key;
    assert.is(after(name, values.length - 1) !== original, determines, name);
  }
  assert.is(after(key, headRows) === original, false);
  assert.is(after(key, headRows - 1), original);
});

test("the fingerprint depends on the tokenizer and on the relevant configuration", () => {
  assert.is.not(fingerprint(config, weights, Buffer.from("Spiece")), original);
  const changed = (changes: Partial<ModelConfig>) =>
    fingerprint({ ...config, ...changes }, weights, tokenizer) !== original;
  assert.ok(changed({ layerNormEpsilon: 1e-5 }));
  assert.ok(changed({ relativeMaxDistance: 100 }));
  assert.ok(changed({ eosId: 2 }));
  assert.ok(changed({ retrievalHead: 1 }));
  assert.ok(changed({ retrievalLayer: 2 }));
  assert.not(changed({ queryEncoder: true }));
  assert.not(changed({ hybrid: { lambda: 1, k1: 0.9, b: 0.4 } }));
  assert.not(
    changed({ dropoutRate: 0.5, retrievalScale: 3, distillationTau: 1, decoderStartId: 5 }),
  );
});

test("a model without lower layers has a fingerprint", () => {
  const shallow = tinyConfig({ retrievalLayer: 0 });
  assert.match(fingerprint(shallow, randomWeights(shallow, 1), tokenizer), /^[0-9a-f]{64}$/);
});

test.run();
