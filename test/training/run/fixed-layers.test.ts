/** The objective `retrieval` leaves the layers that the reader shares as they are. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { openFixedStates } from "../../../src/training/engine/fixed-states.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import type { TokenExample } from "../../../src/training/loss/batch.ts";
import { fixedLayers, selectTrained } from "../../../src/training/loss/trained-parameters.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import {
  temporaryFolder,
  trainedStates,
  writeSmallRun,
  writeTinyModel,
} from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const TOLERANCE = 1e-4; // float32
const examples: TokenExample[] = [
  {
    question: [5, 1],
    answer: [],
    passages: [
      [5, 6, 8, 1],
      [7, 9, 1],
    ],
    positives: [0],
  },
  {
    question: [7, 3, 1],
    answer: [],
    passages: [
      [7, 9, 1],
      [6, 1],
    ],
    positives: [0],
  },
];
const retrieval = { alpha: 1, inBatchNegatives: true, dropout: 0, retrievalOnly: true };
const joint = { ...TINY_MODELS["joint layers"]!, tokenWeights: true };

test("which layers are fixed", () => {
  assert.is(fixedLayers(joint, { retrievalOnly: true }), "shared");
  assert.is(fixedLayers(joint, { retrievalOnly: true, headOnly: true }), "lower");
  assert.is(fixedLayers(joint, {}), undefined);
  assert.is(fixedLayers(joint, { retrievalOnly: true, querySide: "projection" }), undefined);
  assert.is(fixedLayers({ ...joint, queryEncoder: true }, { retrievalOnly: true }), undefined);
  for (const name of ["v1.1", "backbone"])
    assert.is(fixedLayers(TINY_MODELS[name]!, { retrievalOnly: true }), undefined, name);
});

for (const model of [joint, { ...joint, retrievalLayer: 1, encoderLayers: 2 }])
  test(`${model.retrievalLayer} blocks: gradients from held states are those of a whole step`, async () => {
    const batch = { examples, objective: "retrieval", key: ["key"] } as const;
    const whole = trainedStates(model);
    await using backend = await BACKENDS.onnxruntime(model, whole, retrieval);
    backend.clearGradients();
    const accumulate = gradientAccumulator(model, backend.passes, retrieval);
    const expected = await accumulate({ ...batch, chunkQuestions: 2 });
    for (const [engine, open] of Object.entries(BACKENDS))
      for (const chunkQuestions of [2, 1]) {
        const states = trainedStates(model);
        await using own = await open(model, states, retrieval);
        own.clearGradients();
        await using fixed = await openFixedStates(model, states, "shared");
        const held = gradientAccumulator(model, own.passes, retrieval, fixed.withStates);
        const losses = await held({ ...batch, chunkQuestions });
        await own.read(states.keys());
        const what = `${engine}, ${chunkQuestions} questions a chunk`;
        // The value of the loss is correct without a cache only.
        if (chunkQuestions === 2) assertNear([losses.loss], [expected.loss], TOLERANCE, what);
        // The bias of keys adds the same to all scores of a query: its gradient is rounding.
        for (const key of selectTrained(model, retrieval, states).keys())
          if (!key.endsWith("key.bias"))
            assertNear(
              states.get(key)!.gradient,
              whole.get(key)!.gradient,
              TOLERANCE,
              `${what}, ${key}`,
            );
      }
  });

test("it learns in retrieval's own layers, and the reader stays as it is", async () => {
  const model = join(folder.path, "joint");
  const out = join(folder.path, "adapted");
  mkdirSync(model);
  const { vocabularySize: _, ...sizes } = TINY_MODELS["joint layers"]!;
  const config = await writeTinyModel(model, sizes);
  const losses: number[] = [];
  const options: TrainOptions = {
    ...{ ...small, dev: undefined, iterations: 1, questions: 4, learningRate: 0.01 },
    ...{ objective: "retrieval", maxPassageTokens: 40, steps: 40, model, out },
  };
  await finish(train(options), (event) => {
    if (event.type === "step") losses.push(event.losses.loss);
  });
  const mean = (of: readonly number[]): number => of.reduce((sum, x) => sum + x, 0) / of.length;
  assert.ok(mean(losses.slice(-5)) < 0.9 * mean(losses.slice(0, 5)), losses.join(" "));
  const [old, now] = [await loadWeights(model, config), await loadWeights(out, config)];
  const changed = [...now].filter(([name, values]) =>
    values.some((value, i) => value !== old.get(name)![i]),
  );
  const { layers, jointLayers } = config.backbone!;
  const own = new RegExp(
    `^backbone\\.encoder\\.layer\\.[${layers - jointLayers}-${layers - 1}]\\.|` +
      `^encoder\\.block\\.${config.retrievalLayer}\\.layer\\.0\\.(layer_norm|SelfAttention\\.[qk])`,
  );
  for (const [name] of changed) assert.match(name, own, name);
  assert.ok(changed.some(([name]) => name.startsWith("backbone.")));
});

test.run();
