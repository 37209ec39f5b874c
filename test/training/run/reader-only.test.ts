/** Runs with `--train reader`: what search depends on stays as it is, bit for bit. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { retrievalRows } from "../../../src/model/config.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterNames } from "../../../src/model/parameter-names.ts";
import { ReAtt } from "../../../src/reatt.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { rejects } from "../../retrieval/support.ts";
import { finish } from "../../support/adaptation.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { makeTinyModel, temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
// Without measurements: with them, a run keeps the given model if no step is better.
const { dev: _, ...small } = await writeSmallRun(folder.path);
const options: TrainOptions = {
  ...{
    ...small,
    holdOut: false,
    iterations: 1,
    steps: 3,
    questions: 4,
    learningRate: 0.01,
    maxPassageTokens: 40,
  },
  ...{ objective: "qa", train: "reader" },
};

for (const name of ["v1.1", "backbone", "joint layers"])
  test(`${name}: only what reads changes, and an index made before serves on`, async () => {
    const model = join(folder.path, `${name} model`);
    const config = await makeTinyModel(model, TINY_MODELS[name]!);
    const out = join(folder.path, `${name} out`);
    await finish(train({ ...options, model, out }));

    await using before = await ReAtt.load(model);
    await using after = await ReAtt.load(out);
    assert.is(after.fingerprint, before.fingerprint);
    const [old, now] = [await loadWeights(model, config), await loadWeights(out, config)];
    const changed = [...now].filter(([key, values]) => !sameValues(values, old.get(key)!));
    assert.ok(changed.length > 0);
    const { query, key: ofKeys } = parameterNames(config).heads;
    for (const [key, values] of changed) {
      assert.match(key, /^(joint|decoder|output_embedding)\./);
      if (key !== query.weight && key !== ofKeys.weight) continue;
      const [first, end] = retrievalRows(config);
      const own = (weight: Float32Array) =>
        weight.subarray(first * config.modelSize, end * config.modelSize);
      assert.ok(sameValues(own(values), own(old.get(key)!)), key);
    }
    const names = changed.map(([key]) => key);
    assert.ok(names.includes("decoder.layer.0.layer.1.EncDecAttention.q.weight"));
    assert.ok(names.includes(query.weight), "the other heads");
    const joint = names.some((key) => /^joint\.\d\.layer\.\d\.attention/.test(key));
    assert.is(joint, name === "joint layers");
  });

const sameValues = (a: Float32Array, b: Float32Array): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

test("it needs an objective that reads, and passages that fit the positions", async () => {
  const refused: [Partial<TrainOptions>, RegExp][] = [
    [{ objective: "retrieval", copyAttention: 0 }, /^train reader: expected an objective that re/],
    [{ tau: 0.1 }, /^tau: expected training of all heads/],
  ];
  for (const [given, message] of refused)
    await rejects(finish(train({ ...options, ...given, out: join(folder.path, "no") })), message);
  const model = join(folder.path, "backbone model");
  await rejects(
    finish(train({ ...options, model, maxPassageTokens: 41, out: join(folder.path, "no") })),
    /^passage tokens: expected at most 40, the positions of the model, got 41;/,
  );
  await using loaded = await ReAtt.load(model);
  await rejects(
    loaded.index([{ id: "p", title: "", text: "word ".repeat(60) }], {
      directory: join(folder.path, "index"),
    }),
    /^passage tokens: expected at most 40, .* give a lower maxPassageTokens$/,
  );
});

test.run();
