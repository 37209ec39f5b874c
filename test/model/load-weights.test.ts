import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openTorch } from "../../src/checkpoints/torch.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { namesToStore } from "../../src/model/weight-names.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";
import { testWithShared } from "../support/shared.ts";
import { randomWeights, tinyConfig } from "../support/tiny-model.ts";

const shared = join(import.meta.dirname, "../../../shared");
const parent = temporaryFolder();
let folders = 0;

type Changes = Record<string, { shape: number[]; values: Float32Array } | undefined>;

/** A folder with the weights of `config`, some of them changed, added or removed (undefined). */
async function saved(config: ModelConfig, changes: Changes = {}): Promise<string> {
  const folder = join(parent, `${folders++}`);
  mkdirSync(folder);
  const shapes = parameterShapes(config);
  const names = namesToStore(config);
  const tensors = new Map(
    [...randomWeights(config, "load")].map(([name, values]) => [
      names.get(name)!,
      { shape: shapes.get(name)!, values },
    ]),
  );
  for (const [name, tensor] of Object.entries(changes)) {
    if (tensor === undefined) tensors.delete(name);
    else tensors.set(name, tensor);
  }
  await writeSafetensors(join(folder, "model.safetensors"), tensors, { dtype: "F32" });
  return folder;
}

const vector = (...values: number[]) => ({
  shape: [values.length],
  values: Float32Array.from(values),
});

const untied = tinyConfig();
const tied = tinyConfig({ tied: true });

/** The embedding as a tensor. */
function embedding(config: ModelConfig) {
  const values = randomWeights(config, "load").get("embedding.weight")!;
  return { shape: [config.vocabularySize, config.modelSize], values };
}

test("saved weights are loaded, tied or not", async () => {
  for (const config of [untied, tied]) {
    assert.equal(await loadWeights(await saved(config), config), randomWeights(config, "load"));
  }
});

test("a query encoder is loaded if config.json mentions it, and is an error otherwise", async () => {
  const config = { ...untied, queryEncoder: true };
  const folder = await saved(config);
  assert.equal(await loadWeights(folder, config), randomWeights(config, "load"));
  await refused(
    loadWeights(folder, untied),
    /expected no query encoder by config\.json, got query_encoder\./,
  );
  await refused(
    loadWeights(await saved(untied), config),
    /expected query_encoder\..* and \d+ other/,
  );
});

testWithShared("the reference model is the same from both formats", async () => {
  const folder = join(shared, "reference/reatt-v11");
  const weights = await loadWeights(folder, await readConfig(folder));
  const torch = await openTorch(join(folder, "pytorch_model.bin"));
  const names = namesToStore(await readConfig(folder));
  for (const [name, values] of weights)
    assert.equal(values, await torch.read(names.get(name)!), name);
  assert.is(weights.size, 84); // 91 in the file: 2 copies of the embedding, 5 of relative biases
  await torch[Symbol.asyncDispose]();
});

testWithShared("fp16 weights are loaded", async () => {
  const folder = join(shared, "models/reatt-mini-seed");
  const weights = await loadWeights(folder, await readConfig(folder));
  assert.is(weights.get("embedding.weight")!.length, 32_128 * 256);
  assert.ok(
    weights.get("joint.final_layer_norm.weight")!.every((number) => number > 0 && number < 100),
  );
});

test("missing tensors are errors that name them", async () => {
  const folder = await saved(untied, { "lm_head.weight": undefined });
  await refused(
    loadWeights(folder, untied),
    /model\.safetensors: expected lm_head\.weight, got none of that name; add lm_head\.weight as a copy/,
  );
  const tree = tinyConfig({ encoderLayers: 3 });
  const others =
    /expected encoder\.block\.2\.layer\.0\.layer_norm\.weight and 8 other tensors of config\.json/;
  await refused(loadWeights(await saved(untied), tree), others);
});

test("a shape that contradicts config.json is an error with both shapes", async () => {
  const folder = await saved(untied, { "encoder.final_layer_norm.weight": vector(1, 2, 3) });
  const message =
    /model\.safetensors: encoder\.final_layer_norm\.weight: expected shape \[16\] .*, got \[3\]/;
  await refused(loadWeights(folder, untied), message);
});

test("the embedding can have other names and equal copies", async () => {
  const copy = embedding(tied);
  const renamed = await saved(tied, {
    "shared.weight": undefined,
    "decoder.embed_tokens.weight": copy,
  });
  assert.equal((await loadWeights(renamed, tied)).get("embedding.weight"), copy.values);
  const copies = {
    "encoder.embed_tokens.weight": copy,
    "decoder.embed_tokens.weight": copy,
    "lm_head.weight": copy,
  };
  assert.equal(await loadWeights(await saved(tied, copies), tied), randomWeights(tied, "load"));
});

test("a copy of the embedding that differs is refused", async () => {
  const other = { ...embedding(tied), values: embedding(tied).values.map((number) => -number) };
  const untiedHead = await saved(tied, { "lm_head.weight": other });
  const message =
    /: lm_head\.weight: expected a copy of shared\.weight, got other values; set tie_word_embeddings to/;
  await refused(loadWeights(untiedHead, tied), message);
  assert.equal(
    (await loadWeights(untiedHead, untied)).get("output_embedding.weight"),
    other.values,
  );
  const input = await saved(tied, { "encoder.embed_tokens.weight": other });
  await refused(
    loadWeights(input, tied),
    /encoder\.embed_tokens\.weight: expected a copy of shared\.weight, .*one embedding for encoder/,
  );
});

test("tensors that would change the result are errors", async () => {
  const check = async (name: string, message: RegExp) =>
    refused(loadWeights(await saved(untied, { [name]: vector(1) }), untied), message);
  await check(
    "encoder.block.2.layer.0.SelfAttention.q.weight",
    /expected 2 blocks in the encoder, got encoder\.block\.2/,
  );
  await check(
    "decoder.block.10.layer.0.layer_norm.weight",
    /expected 2 blocks in the decoder, got decoder\.block\.10/,
  );
  await check(
    "encoder.block.0.layer.0.SelfAttention.q.bias",
    /expected .*\.q\.weight alone, got .*\.q\.bias as well/,
  );
  await check(
    "encoder.block.0.layer.0.SelfAttention.q.lora_A.weight",
    /got .*\.q\.lora_A\.weight as well/,
  );
  await check("lm_head.bias", /expected lm_head\.weight alone, got lm_head\.bias as well/);
});

test("tensors without influence are ignored", async () => {
  const folder = await saved(untied, {
    "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight": vector(1),
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": vector(1),
    "classification_head.dense.weight": vector(1),
  });
  assert.equal(await loadWeights(folder, untied), randomWeights(untied, "load"));
});

test.run();
