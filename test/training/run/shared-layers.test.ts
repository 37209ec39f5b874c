/** The objective `retrieval` leaves the layers that the reader shares as they are. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { mean } from "../../../src/math/mean.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { ReAtt } from "../../../src/reatt.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { openFixedStates } from "../../../src/training/engine/fixed-states.ts";
import { fixedLayers } from "../../../src/training/engine/open-engine.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import {
  keepsSharedLayers,
  selectTrained,
  withTrainedLayers,
} from "../../../src/training/loss/trained-parameters.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { rejects } from "../../retrieval/support.ts";
import { finish } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import {
  makeTinyModel,
  randomExamples,
  temporaryFolder,
  trainedStates,
  writeSmallRun,
} from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const joint = TINY_MODELS["joint layers"]!;

/** What a model reads from two passages of its training. */
async function answers(path: string): Promise<unknown> {
  await using model = await ReAtt.load(path);
  const passages: Passage[] = [];
  for await (const passage of readPassages(small.corpus)) passages.push(passage);
  const { answer, tokenIds, confidence } = await model.read(
    "who built the tower",
    passages.slice(0, 2),
  );
  return { answer, tokenIds, confidence };
}

test("which runs keep the shared layers", () => {
  assert.ok(keepsSharedLayers(joint, { retrievalOnly: true }));
  assert.not(keepsSharedLayers(joint, {}));
  assert.not(keepsSharedLayers(joint, { retrievalOnly: true, querySide: "projection" }));
  assert.not(keepsSharedLayers({ ...joint, queryEncoder: true }, { retrievalOnly: true }));
  for (const name of ["v1.1", "backbone"])
    assert.not(keepsSharedLayers(TINY_MODELS[name]!, { retrievalOnly: true }), name);
});

test("which runs hold the states of the shared layers between steps", () => {
  const options = { headOnly: false, engine: "onnxruntime" } as const;
  const own = { retrievalOnly: true, dropout: 0 };
  assert.is(fixedLayers(joint, options, own), "shared");
  assert.is(fixedLayers(joint, { ...options, headOnly: true }, own), "lower");
  assert.is(fixedLayers(joint, options, { ...own, dropout: 0.1 }), undefined);
  assert.is(fixedLayers(joint, options, { ...own, retrievalOnly: false }), undefined);
  assert.is(fixedLayers(joint, { ...options, engine: "tensorflow" }, own), undefined);
  assert.is(fixedLayers(TINY_MODELS.backbone!, options, own), undefined);
});

const MODELS = {
  "joint layers": joint,
  "weighted tokens": { ...joint, tokenWeights: true },
  "a block below the head": { ...joint, retrievalLayer: 1 },
  "one trained layer": withTrainedLayers(joint, { trainedLayers: 1 }),
};

for (const [name, config] of Object.entries(MODELS))
  for (const chunkQuestions of [4, 2])
    test(`${name}, ${chunkQuestions} questions a chunk: held states change no gradient`, async () => {
      const options = { alpha: 1, inBatchNegatives: true, dropout: 0, retrievalOnly: true };
      const examples = randomExamples(config, 4, 3).map((one) => ({ ...one, positives: [1] }));
      const batch = { examples, chunkQuestions, objective: "retrieval", key: ["key"] } as const;
      for (const [engine, open] of Object.entries(BACKENDS)) {
        const [whole, held] = [trainedStates(config), trainedStates(config)];
        await using backend = await open(config, whole, options);
        backend.clearGradients();
        const expected = await gradientAccumulator(config, backend.passes, options)(batch);
        await backend.read(whole.keys());
        await using own = await open(config, held, options);
        await using fixed = await openFixedStates(config, held, "shared");
        const accumulate = gradientAccumulator(config, own.passes, options, fixed.withStates);
        for (const turn of ["computed", "held"]) {
          own.clearGradients();
          const losses = await accumulate(batch);
          await own.read(held.keys());
          const what = `${engine}, ${turn}`;
          if (chunkQuestions === 4) assertNear([losses.loss], [expected.loss], 1e-4, what);
          // A key bias shifts all scores of a query alike, so its gradient is 0 but for rounding.
          for (const [key, { gradient }] of selectTrained(config, options, whole))
            if (!key.endsWith(".key.bias"))
              assertNear(held.get(key)!.gradient, gradient, 1e-4, `${what}, ${key}`);
        }
      }
    });

/** The settings of a run that shows whether the loss falls. */
const learning: Omit<TrainOptions, "model" | "out"> = {
  ...{ ...small, dev: undefined, iterations: 1, questions: 4, learningRate: 0.01 },
  ...{ objective: "retrieval", maxPassageTokens: 40, steps: 40, dropout: 0 },
};

for (const layers of [undefined, 1])
  test(`trained layers: ${layers ?? "all of retrieval"}, and the reader stays as it is`, async () => {
    const model = join(folder.path, `joint ${layers}`);
    const out = join(folder.path, `adapted ${layers}`);
    const config = await makeTinyModel(model, joint);
    const losses: number[] = [];
    await finish(train({ ...learning, model, out, layers }), (event) => {
      if (event.type === "step") losses.push(event.losses.loss);
    });
    assert.ok(mean(losses.slice(-5)) < 0.9 * mean(losses.slice(0, 5)), losses.join(" "));
    const [old, now] = [await loadWeights(model, config), await loadWeights(out, config)];
    const changed = [...now].filter(([name, values]) =>
      values.some((value, i) => value !== old.get(name)![i]),
    );
    const { layers: all, jointLayers } = config.backbone!;
    const first = all - (layers ?? jointLayers);
    const own = new RegExp(`^backbone\\.encoder\\.layer\\.[${first}-${all - 1}]\\.`);
    for (const [name] of changed) assert.match(name, own, name);
    assert.ok(changed.length > 0);
    assert.equal(await answers(out), await answers(model));
  });

test("a model with fewer layers is refused", async () => {
  for (const [name, expected] of [
    ["joint layers", /^layers: expected at most 2, got 3; give fewer$/],
    ["v1.1", /^layers: expected at most 1, got 3; give fewer$/],
  ] as const) {
    const model = join(folder.path, `refused ${name}`);
    await makeTinyModel(model, TINY_MODELS[name]!);
    await rejects(finish(train({ ...learning, model, out: `${model} out`, layers: 3 })), expected);
  }
});

test.run();
