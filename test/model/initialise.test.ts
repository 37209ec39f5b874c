import { test } from "uvu";
import * as assert from "uvu/assert";
import { hasWeights } from "../../src/checkpoints/open.ts";
import { mean } from "../../src/math/mean.ts";
import { initialWeights } from "../../src/model/initialise.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { assertNear } from "../support/arrays.ts";
import { TINY_MODELS, tinyConfig, withChanges } from "../support/tiny-model.ts";
import { temporaryFolder, writeTinyModel } from "../support/training.ts";

const config = tinyConfig({
  vocabularySize: 400,
  modelSize: 64,
  headSize: 16,
  heads: 8,
  feedForwardSize: 256,
});

const deviation = (x: Float32Array): number =>
  Math.sqrt(mean(x.map((value) => value ** 2)) - mean(x) ** 2);

test("weights have the standard deviations of Hugging Face's T5", () => {
  const weights = initialWeights(config, 1);
  const expected: Readonly<Record<string, number>> = {
    "embedding.weight": 1,
    "output_embedding.weight": 1,
    "joint.0.layer.0.layer.0.SelfAttention.q.weight": 1 / 32, // (64 * 16) ** -0.5
    "decoder.layer.1.layer.1.EncDecAttention.k.weight": 1 / 8,
    "decoder.layer.0.layer.0.SelfAttention.v.weight": 1 / 8,
    "shared.0.layer.0.layer.0.SelfAttention.o.weight": 1 / Math.sqrt(128),
    "shared.0.layer.0.layer.1.DenseReluDense.wi_0.weight": 1 / 8,
    "decoder.layer.1.layer.2.DenseReluDense.wi_1.weight": 1 / 8,
    "decoder.layer.1.layer.2.DenseReluDense.wo.weight": 1 / 16,
  };
  for (const [name, size] of Object.entries(expected)) {
    const values = weights.get(name)!;
    // 8,192 values or more: a standard error of 0.8 %
    assertNear([deviation(values)], [size], 0.03, name);
    assert.ok(Math.abs(mean(values)) < 0.05 * size, name);
  }
  const bias = weights.get("decoder.relative_attention_bias.weight")!;
  assertNear([deviation(bias)], [1 / 8], 0.4); // of 64 values
  for (const name of ["joint.final_layer_norm.weight", "decoder.layer.1.layer.1.layer_norm.weight"])
    assert.equal(new Set(weights.get(name)), new Set([1]), name);
});

test("values are normally distributed and independent of their neighbours", () => {
  const values = initialWeights(config, 1).get("embedding.weight")!; // 25,600
  const share = (inside: number): number =>
    values.filter((x) => Math.abs(x) < inside).length / values.length;
  assertNear([share(1), share(2), share(3)], [0.6827, 0.9545, 0.9973], 0.01);
  const products = values.map((x, i) => x * (values[i + 1] ?? 0));
  assert.ok(Math.abs(mean(products)) < 0.03, `${mean(products)}`);
});

test("the seed determines every weight, and each weight has its own random stream", () => {
  const [once, again, other] = [
    initialWeights(config, 1),
    initialWeights(config, 1),
    initialWeights(config, 2),
  ];
  assert.equal(once, again);
  const deeper = initialWeights(withChanges(config, { encoderLayers: 3, tied: true }), 1);
  for (const [name, values] of once) {
    if (!name.includes("norm")) assert.not.equal(values, other.get(name), name);
    if (name !== "output_embedding.weight") assert.equal(values, deeper.get(name), name);
  }
});

for (const [title, tiny] of Object.entries(TINY_MODELS))
  test(`every weight of ${title} has its shape and finite values`, () => {
    const weights = initialWeights(tiny, 1);
    const shapes = parameterShapes(tiny);
    assert.equal([...weights.keys()], [...shapes.keys()]);
    for (const [name, shape] of shapes) {
      assert.is(
        weights.get(name)!.length,
        shape.reduce((product, size) => product * size),
      );
      assert.ok(weights.get(name)!.every(Number.isFinite), name);
    }
  });

test("training starts from random weights in a folder without weights", async () => {
  await using folder = temporaryFolder();
  await writeTinyModel(folder.path, { weights: false });
  assert.not(await hasWeights(folder.path));
  await writeTinyModel(folder.path);
  assert.ok(await hasWeights(folder.path));
});

test.run();
