import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { readConfig } from "../../src/model/config-file.ts";
import {
  buildParameters,
  isOfQueryEncoder,
  parameterNames,
  parameterShapes,
  queryEncoderSources,
} from "../../src/model/parameter-names.ts";
import type { T5Layers } from "../../src/model/parameters.ts";
import { t5Names } from "../../src/model/t5-form.ts";
import { testWithShared } from "../support/shared.ts";
import { tinyConfig, withChanges } from "../support/tiny-model.ts";

const reference = join(import.meta.dirname, "../../../shared/reference");

for (const model of ["reatt-v11", "reatt-v10-tied"]) {
  testWithShared(`${model}: names and shapes are those of the checkpoint`, async () => {
    const folder = join(reference, model);
    const weights = await openSafetensors(join(folder, "model.safetensors"));
    const stored = [...weights.tensors.values()].map(
      ({ name, shape }): [string, readonly number[]] => [name, shape],
    );
    const config = await readConfig(folder);
    const names = t5Names(config);
    const wanted = [...parameterShapes(config)].map(
      ([name, shape]): [string, readonly number[]] => [names.get(name)!, shape],
    );
    const isCopy = ([name]: [string, unknown]) =>
      /block\.[1-9]\d*\..*relative_attention_bias/.test(name);
    assert.equal(
      new Map(wanted.toSorted()),
      new Map(stored.filter((tensor) => !isCopy(tensor)).toSorted()),
    );
    await weights[Symbol.asyncDispose]();
  });
}

const config = tinyConfig({
  vocabularySize: 11,
  modelSize: 4,
  headSize: 3,
  heads: 2,
  decoderLayers: 1,
  relativeBuckets: 7,
});

test("the tree, the names and the shapes equal a table", () => {
  const shapes = parameterShapes(config);
  const tree = buildParameters(config, (name) => name);
  assert.is(tree.embedding, "embedding.weight");
  assert.is(tree.outputEmbedding, "output_embedding.weight");
  assert.equal(shapes.get("output_embedding.weight"), [11, 4]);
  const [block] = (tree.joint[0] as T5Layers<string>).layers;
  assert.is(block!.attention.value, "joint.0.layer.0.layer.0.SelfAttention.v.weight");
  assert.equal(shapes.get(block!.attention.value), [6, 4]);
  assert.equal(shapes.get(block!.attention.output), [4, 6]);
  assert.equal(block!.feedForward, {
    kind: "gated-gelu",
    gate: "joint.0.layer.0.layer.1.DenseReluDense.wi_0.weight",
    inner: "joint.0.layer.0.layer.1.DenseReluDense.wi_1.weight",
    outer: "joint.0.layer.0.layer.1.DenseReluDense.wo.weight",
  });
  assert.is(
    tree.decoder.layers[0]!.crossAttention.key,
    "decoder.layer.0.layer.1.EncDecAttention.k.weight",
  );
  assert.is(tree.decoder.layers[0]!.feedForwardNorm, "decoder.layer.0.layer.2.layer_norm.weight");
  assert.is(tree.decoder.relativeBias, "decoder.relative_attention_bias.weight");
  assert.equal(shapes.get(tree.decoder.relativeBias), [7, 2]);
});

test("each weight is one leaf, and tied embeddings are one leaf", () => {
  const names: string[] = [];
  const leaf = (name: string) => {
    names.push(name);
    return { name };
  };
  const tree = buildParameters(withChanges(config, { tied: true, feedForward: "relu" }), leaf);
  assert.is(tree.outputEmbedding, tree.embedding);
  assert.is(names.length, new Set(names).size);
  assert.is(names.length, 1 + 2 * 2 + 2 * 8 + 1 * 13);
});

test("a query encoder has its own weights for query vectors and shares the others", () => {
  const plain = tinyConfig({ encoderLayers: 3, retrievalLayer: 1 });
  const { querySide, heads } = parameterNames({ ...plain, queryEncoder: true });
  const [copy] = querySide.shared as T5Layers<string>[];
  const outer = "query_encoder.0.layer.0.layer.1.DenseReluDense.wo.weight";
  assert.is(copy!.layers[0]!.feedForward.outer, outer);
  assert.is(querySide.heads.norm, "query_encoder.norm.weight");
  assert.equal(querySide.heads.query, { weight: "query_encoder.query.weight" });
  assert.is(querySide.heads.key, heads.key);
  const [before, after] = [plain, { ...plain, queryEncoder: true }].map(parameterShapes);
  const own = [...after!].filter(([name]) => !before!.has(name));
  assert.is(own.length, 9 + 1 + 2); // a block, its table of biases, and what asks
  const sources = queryEncoderSources({ ...plain, queryEncoder: true });
  for (const [name, shape] of own) {
    assert.ok(isOfQueryEncoder(name));
    assert.equal(before!.get(sources.get(name)!), shape, name);
  }
  const { querySide: same, ...text } = parameterNames(plain);
  assert.is(same.shared, text.shared);
});

test.run();
