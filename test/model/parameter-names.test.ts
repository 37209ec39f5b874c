import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { readConfig } from "../../src/model/config.ts";
import {
  buildParameters,
  encoderName,
  isOfQueryEncoder,
  parameterShapes,
} from "../../src/model/parameter-names.ts";
import { testWithShared } from "../support/shared.ts";
import { tinyConfig } from "../support/tiny-model.ts";

const reference = join(import.meta.dirname, "../../../shared/reference");

for (const model of ["reatt-v11", "reatt-v10-tied"]) {
  testWithShared(`${model}: names and shapes are those of the checkpoint`, async () => {
    const folder = join(reference, model);
    const weights = await openSafetensors(join(folder, "model.safetensors"));
    const stored = [...weights.tensors.values()].map(
      ({ name, shape }): [string, readonly number[]] => [name, shape],
    );
    const wanted = [...parameterShapes(await readConfig(folder))];
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
  assert.is(tree.embedding, "shared.weight");
  assert.is(tree.outputEmbedding, "lm_head.weight");
  assert.equal(shapes.get("lm_head.weight"), [11, 4]);
  const [, block] = tree.encoder.blocks;
  assert.is(block!.attention.value, "encoder.block.1.layer.0.SelfAttention.v.weight");
  assert.equal(shapes.get(block!.attention.value), [6, 4]);
  assert.equal(shapes.get(block!.attention.output), [4, 6]);
  assert.equal(block!.feedForward, {
    kind: "gated-gelu",
    gate: "encoder.block.1.layer.1.DenseReluDense.wi_0.weight",
    inner: "encoder.block.1.layer.1.DenseReluDense.wi_1.weight",
    outer: "encoder.block.1.layer.1.DenseReluDense.wo.weight",
  });
  assert.is(
    tree.decoder.blocks[0]!.crossAttention.key,
    "decoder.block.0.layer.1.EncDecAttention.k.weight",
  );
  assert.is(tree.decoder.blocks[0]!.feedForwardNorm, "decoder.block.0.layer.2.layer_norm.weight");
  assert.is(
    tree.decoder.relativeBias,
    "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
  );
  assert.equal(shapes.get(tree.decoder.relativeBias), [7, 2]);
});

test("each weight is one leaf, and tied embeddings are one leaf", () => {
  const names: string[] = [];
  const leaf = (name: string) => {
    names.push(name);
    return { name };
  };
  const tree = buildParameters({ ...config, tied: true, feedForward: "relu" }, leaf);
  assert.is(tree.outputEmbedding, tree.embedding);
  assert.is(names.length, new Set(names).size);
  assert.is(names.length, 1 + 2 * 2 + 2 * 8 + 1 * 13);
});

test("a query encoder has its own weights for query vectors and shares the others", () => {
  const plain = tinyConfig({ encoderLayers: 3, retrievalLayer: 1 });
  const tree = buildParameters({ ...plain, queryEncoder: true }, (name) => name);
  const { queryEncoder, encoder } = tree;
  assert.is(queryEncoder.blocks.length, 2);
  const [lower, asking] = queryEncoder.blocks;
  assert.is(lower!.feedForward.outer, "query_encoder.block.0.layer.1.DenseReluDense.wo.weight");
  assert.is(asking!.attentionNorm, "query_encoder.block.1.layer.0.layer_norm.weight");
  assert.is(asking!.attention.query, "query_encoder.block.1.layer.0.SelfAttention.q.weight");
  assert.is(asking!.attention.key, encoder.blocks[1]!.attention.key);
  const [before, after] = [plain, { ...plain, queryEncoder: true }].map(parameterShapes);
  const own = [...after!].filter(([name]) => !before!.has(name));
  assert.is(own.length, 9 + 1 + 2); // a block, its table of biases, and what asks
  for (const [name, shape] of own) {
    assert.ok(isOfQueryEncoder(name));
    assert.equal(before!.get(encoderName(name)), shape, name);
  }
  const same = buildParameters(plain, (name) => name);
  assert.is(same.queryEncoder, same.encoder);
});

test.run();
