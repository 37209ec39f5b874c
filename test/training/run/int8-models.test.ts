/** Training of an int8 model: it stays in int8, and what is not trained keeps its bits. */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openWeights } from "../../../src/checkpoints/open.ts";
import { type ModelConfig, vectorSize } from "../../../src/model/config.ts";
import { convertModel } from "../../../src/model/convert.ts";
import { storeInConfig } from "../../../src/model/store-config.ts";
import { PRUNING_SHARES, pruningWeights } from "../../../src/model/token-pruning.ts";
import { ReAtt } from "../../../src/reatt.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { calibrationOf } from "../../support/calibration.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { makeTinyModel, temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const passages: Passage[] = [];
for await (const passage of readPassages(small.corpus)) passages.push(passage);

/** A model of 8-bit integers with a calibration and a pruning layer. */
async function int8Model(name: string, config: ModelConfig): Promise<string> {
  const [float, model] = [join(folder.path, `${name}-float`), join(folder.path, name)];
  await makeTinyModel(float, config);
  await convertModel(float, { out: model, precision: "int8" });
  const weights = { likelihood: 1, margin: 2, attention: 1, length: -0.5, quoted: 0.5 };
  const pruning = {
    weights: Array.from({ length: pruningWeights(vectorSize(config)) }, (_, i) => i / 8),
    thresholds: PRUNING_SHARES.map((share) => 1 - share),
  };
  await storeInConfig(model, { calibration: calibrationOf(-2, weights), pruning }, model);
  return model;
}

async function trained(
  model: string,
  { out = `${model}-trained`, ...changes }: Partial<TrainOptions>,
): Promise<string> {
  const sizes = { iterations: 1, questions: 4, steps: 2, learningRate: 0.01, dropout: 0 };
  const options = {
    ...small,
    dev: undefined,
    holdOut: false,
    ...sizes,
    maxPassageTokens: 40,
    model,
    out,
  };
  await finish(train({ ...options, ...changes }));
  return out;
}

/** The tensors of 8-bit integers: places that hold their bytes. */
async function integers(model: string): Promise<Map<string, Buffer>> {
  await using weights = await openWeights(model);
  const found = new Map<string, Buffer>();
  const bytesAt = (file: string, position: number, length: number): Buffer =>
    readFileSync(file).subarray(position, position + length);
  for (const name of weights.tensors.keys()) {
    const place = await weights.locate(name);
    if (!place?.scales) continue;
    const { shape, scales, columnScales } = place;
    const parts = [bytesAt(place.file, place.position, shape[0]! * shape[1]!)];
    for (const scale of [scales, ...(columnScales ? [columnScales] : [])])
      parts.push(bytesAt(scale.file, scale.position, 4 * scale.shape[0]!));
    found.set(name, Buffer.concat(parts));
  }
  return found;
}

const configOf = (model: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(model, "config.json"), "utf8"));

async function reading(path: string): Promise<unknown> {
  await using model = await ReAtt.load(path);
  const { answer, tokenIds, confidence } = await model.read(
    "who built the tower",
    passages.slice(0, 2),
  );
  return { answer, tokenIds, confidence };
}

test("retrieval training of a model with joint layers: its reader stays, with its calibration", async () => {
  const model = await int8Model("joint", TINY_MODELS["joint layers"]!);
  const out = await trained(model, { objective: "retrieval" });
  const [before, after] = [await integers(model), await integers(out)];
  assert.equal([...after.keys()].sort(), [...before.keys()].sort());
  const changed = [...before].filter(([name, bytes]) => !bytes.equals(after.get(name)!));
  assert.ok(changed.length > 0);
  for (const [name] of changed) assert.match(name, /^retrieval\.0\.layer\./);
  assert.equal(configOf(out).calibration, configOf(model).calibration);
  assert.is(configOf(out).pruning, undefined); // it was fitted to other keys
  assert.equal(await reading(out), await reading(model));
});

test("reader-only training keeps the pruning layer, since no key changes, and the old calibration", async () => {
  const model = await int8Model("reading", TINY_MODELS["joint layers"]!);
  const out = await trained(model, { objective: "qa", train: "reader" });
  assert.ok(configOf(model).pruning);
  assert.equal(configOf(out).pruning, configOf(model).pruning);
  assert.ok(configOf(model).calibration);
  assert.equal(configOf(out).calibration, configOf(model).calibration);
  const card = readFileSync(join(out, "README.md"), "utf8");
  assert.match(
    card,
    /\| note \| confidence and abstention are by the calibration of the given model: no held-out/,
  );
  assert.not.match(card, /the pruning layer of the given model/);
  const report = readFileSync(join(`${out}.run`, "report.html"), "utf8");
  assert.match(report, /Confidence and abstention are by the calibration of the given model/);
});

test("a trained model converted to int8 keeps the bits of its training, and indexes stay valid", async () => {
  const model = await int8Model("again", TINY_MODELS["joint layers"]!);
  const directory = join(folder.path, "index of all");
  {
    await using original = await ReAtt.load(model);
    await using _ = await original.index(passages, { directory });
  }
  const out = await trained(model, { objective: "qa", train: "reader" });
  const again = `${out}-int8`;
  await convertModel(out, { out: again, precision: "int8" });
  const [before, between, after] = [
    await integers(model),
    await integers(out),
    await integers(again),
  ];
  assert.ok([...between].some(([name, bytes]) => !bytes.equals(before.get(name)!)));
  assert.equal([...after.keys()].sort(), [...before.keys()].sort());
  for (const [name, bytes] of between) assert.ok(bytes.equals(after.get(name)!), name);
  await using asking = await ReAtt.load(again);
  await using index = await asking.openIndex(directory);
  assert.ok((await asking.retrieve("who built the tower", index)).length > 0);
});

test("the query side: an index of the int8 model stays valid, with its pruning layer", async () => {
  const model = await int8Model("asking", TINY_MODELS["v1.1"]!);
  const directory = join(folder.path, "index");
  {
    await using original = await ReAtt.load(model);
    await using _ = await original.index(passages, { directory });
  }
  for (const layers of [undefined, 1]) {
    const out = await trained(model, { train: "query", layers, out: `${model}-${layers}` });
    assert.equal(configOf(out).token_pruning, configOf(model).token_pruning);
    await using asking = await ReAtt.load(out);
    await using index = await asking.openIndex(directory);
    assert.ok((await asking.retrieve("who built the tower", index)).length > 0);
  }
});

test("training of everything: in int8 and of the same size, the old calibration is named, and what is gone", async () => {
  const model = await int8Model("all", TINY_MODELS["v1.1"]!);
  const out = await trained(model, { objective: "supervised" });
  const [before, after] = [await integers(model), await integers(out)];
  assert.equal([...after.keys()].sort(), [...before.keys()].sort());
  const sizeOf = (path: string): number => statSync(join(path, "model.safetensors")).size;
  assert.ok(sizeOf(out) < 1.01 * sizeOf(model), `${sizeOf(out)} of ${sizeOf(model)} bytes`);
  assert.ok(configOf(model).answer_calibration);
  assert.equal(configOf(out).answer_calibration, configOf(model).answer_calibration);
  assert.is(configOf(out).token_pruning, undefined);
  const card = readFileSync(join(out, "README.md"), "utf8");
  assert.match(card, /\| size \| [\d.]+ [kM]B \|/);
  assert.match(
    card,
    /\| note \| the pruning layer of the given model .* is gone: reatt train pruning/,
  );
});

test.run();
