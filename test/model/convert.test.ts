import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { dequantise, quantiseLayer, quantiseTable } from "../../src/checkpoints/int8.ts";
import { balanceColumns } from "../../src/model/balance-columns.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { type ConvertOptions, convertModel } from "../../src/model/convert.ts";
import { fingerprint } from "../../src/model/fingerprint.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { namesToStore } from "../../src/model/weight-names.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";
import { runCaptured } from "../cli/support.ts";
import { writeTinyModel } from "../support/training.ts";

const parent = temporaryFolder();
const at = (name: string): string => join(parent, name);
const model = at("model");
mkdirSync(model);
const config = await writeTinyModel(model, { queryEncoder: true });
const original = await loadWeights(model, config);
writeFileSync(join(model, "README.md"), "a model");
writeFileSync(join(model, "metrics.jsonl"), "a log of training, which is not copied");
writeFileSync(join(model, "tf_model.h5"), "weights that reatt does not read");

/** The weights of a converted model, and its fingerprint. */
async function converted(name: string, options: Omit<ConvertOptions, "out">) {
  await convertModel(model, { out: at(name), ...options });
  const read = await readConfig(at(name));
  const weights = await loadWeights(at(name), read);
  return { config: read, weights, identity: await identify(weights) };
}

const identify = (weights: ReadonlyMap<string, Float32Array>): Promise<string> =>
  fingerprint(config, (name) => [weights.get(name)!], new Uint8Array());

test("fp32 keeps all values, and the files of a model but other weights", async () => {
  const { config: read, weights, identity } = await converted("fp32", { precision: "fp32" });
  assert.equal(weights, original);
  assert.equal(read, config);
  assert.is(identity, await identify(original));
  const files = ["README.md", "config.json", "model.safetensors", "spiece.model"];
  assert.equal(readdirSync(at("fp32")).sort(), files);
  assert.is(readFileSync(join(at("fp32"), "README.md"), "utf8"), "a model");
});

/** Second projections, and what makes keys and queries of the retrieval head, in block 1. */
const KEPT =
  /\.wo\.|relative_attention_bias|joint\.0\.layer\.0\.layer\.0\.SelfAttention\.(q|k)\.|query_encoder\.query\./;

test("a warning where reatt trained the model in float32, and only for int8", async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error): number => warnings.push(warning);
  process.on("warning", listen);
  const trained = at("trained");
  cpSync(model, trained, { recursive: true });
  writeFileSync(join(trained, "README.md"), "---\nlibrary_name: reatt\n---\n");
  await convertModel(trained, { out: at("trained-fp16"), precision: "fp16" });
  await convertModel(model, { out: at("others-int8"), precision: "int8" });
  await convertModel(trained, { out: at("trained-int8"), precision: "int8" });
  await convertModel(at("trained-int8"), { out: at("again-int8"), precision: "int8" });
  process.off("warning", listen);
  assert.is(warnings.length, 1);
  assert.match(warnings[0]!.message, /nearest step takes back/);
});

test("int8 rounds the rows of balanced matrices and keeps those that err most", async () => {
  const { weights, identity } = await converted("int8", { precision: "int8" });
  const balanced = balanceColumns(config, async (name) => original.get(name)!);
  for (const [name, shape] of parameterShapes(config)) {
    const values = await balanced(name);
    const isExact = shape.length === 1 || KEPT.test(name);
    const quantise = name === "embedding.weight" ? quantiseTable : quantiseLayer;
    const expected = isExact ? values : dequantise(quantise(values, shape[0]!));
    assert.equal(weights.get(name), expected, name);
  }
  assert.is.not(identity, await identify(original));
  assert.is(await identify(await loadWeights(at("int8"), config)), identity);
});

test("shards have the weights of one file, and none is larger than asked", async () => {
  const shardBytes = 50_000;
  const { identity } = await converted("shards", { precision: "int8", shardBytes });
  const whole = await loadWeights(at("int8"), config);
  assert.is(identity, await identify(whole));
  const index = join(at("shards"), "model.safetensors.index.json");
  const { weight_map: shards, metadata } = JSON.parse(readFileSync(index, "utf8"));
  assert.equal(Object.keys(shards).sort(), [...namesToStore(config).values()].sort());
  const sizes = [...new Set<string>(Object.values(shards))].map((shard) => dataBytes(shard));
  // The embedding has rows of 16 bytes and scales: one tensor can be larger than a shard.
  assert.equal(
    sizes.filter((bytes) => bytes > shardBytes),
    [config.vocabularySize * (16 + 4) + 16 * 4],
  );
  assert.is(
    metadata.total_size,
    sizes.reduce((sum, bytes) => sum + bytes, 0),
  );
  assert.ok(sizes.length > 1);
});

/** Bytes of the tensors of a shard. */
function dataBytes(shard: string): number {
  const bytes = readFileSync(join(at("shards"), shard));
  return bytes.length - 8 - Number(bytes.readBigUInt64LE());
}

test("an int8 model becomes fp16 and fp32 again", async () => {
  const options = { out: at("back"), precision: "fp32" } as const;
  await convertModel(at("int8"), options);
  assert.equal(await loadWeights(at("back"), config), await loadWeights(at("int8"), config));
});

test("a folder that has files, a value beyond fp16 and an unknown precision are refused", async () => {
  const occupied = convertModel(model, { out: at("int8"), precision: "fp16" });
  await refused(occupied, /int8: expected a new or empty folder, got one with README\.md/);
  await refused(
    convertModel(model, { out: at("int4"), precision: "int4" as "int8" }),
    /precision: expected fp32, fp16, int8, got 'int4'/,
  );
  const missing = convertModel(at("missing"), { out: at("new"), precision: "fp16" });
  await refused(missing, /missing.config\.json: expected/);
});

test("the command converts in shards and prints the folder and the size", async () => {
  const args = ["--model", model, "--out", at("cli"), "--precision", "fp16", "--shards", "0.05MB"];
  const { code, stdout } = await runCaptured(["convert", ...args]);
  const values = [...original.values()].reduce((sum, { length }) => sum + length, 0);
  assert.equal([code, stdout], [0, `${at("cli")}  ${((2 * values) / 1e3).toPrecision(3)} kB\n`]);
  assert.ok(readdirSync(at("cli")).includes("model.safetensors.index.json"));
  const wrong = await runCaptured(["convert", ...args.slice(0, 6), "--shards", "big"]);
  assert.is(wrong.code, 2);
  assert.match(wrong.stderr, /--shards: expected a whole number from 1 on, got "big"/);
});

test.run();
