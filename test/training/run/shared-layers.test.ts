/** The objective `retrieval` leaves the layers that the reader shares as they are. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { mean } from "../../../src/math/mean.ts";
import type { ModelConfig } from "../../../src/model/config.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { countLayers } from "../../../src/model/stack.ts";
import { ReAtt } from "../../../src/reatt.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { heldLayers } from "../../../src/training/objectives/held-layers.ts";
import { objectivesOf } from "../../../src/training/objectives/index.ts";
import { LOG_SCALE, selectTrained } from "../../../src/training/objectives/trained-parameters.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { rejects } from "../../retrieval/support.ts";
import { finish } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { TINY_MODELS, TINY_STACKS, withChanges } from "../../support/tiny-model.ts";
import {
  makeTinyModel,
  randomExamples,
  temporaryFolder,
  trainedStates,
  writeSmallRun,
} from "../../support/training.ts";
import { computeStep, ENGINES, trainedBy } from "../../support/training-step.ts";

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

test("the layers that a run holds follow from what it trains", () => {
  const held = (config: ModelConfig, options: Parameters<typeof trainedBy>[1], isRead = false) =>
    heldLayers(config, trainedBy(config, options).names, isRead);
  const objective = "retrieval";
  assert.is(held(joint, { objective }), 1); // the third and the second layer are trained
  assert.is(held(joint, { objective, layers: 1 }), 2);
  assert.is(held(joint, { objective, part: "head" }), 3);
  assert.is(held(joint, {}), undefined);
  assert.is(held(joint, { part: "reader", objective: "qa" }, true), 1);
  assert.is(held(TINY_MODELS.backbone!, { objective }), undefined);
  assert.is(held(TINY_MODELS.backbone!, { objective, part: "head" }), 2);
  assert.is(held(TINY_MODELS["backbone and a block"]!, { part: "reader" }, true), 2);
  assert.is(held(TINY_MODELS["v1.1"]!, { objective, part: "head" }), 1);
});

const MODELS = {
  "joint layers": [joint, {}],
  "weighted tokens": [withChanges(joint, { tokenWeights: true }), {}],
  "a block below the head": [withChanges(joint, { encoderLayers: 2, retrievalLayer: 1 }), {}],
  "one trained layer": [joint, { layers: 1 }],
  "stacks of BERT alone": [TINY_STACKS, {}],
  "the head alone": [joint, { part: "head" }],
  "the head of a T5": [TINY_MODELS["v1.1"]!, { part: "head" }],
  "the reader alone": [joint, { objective: "qa", part: "reader" }],
  "a reader that teaches": [joint, { objective: "likelihood" }],
  "a reader that teaches stacks of BERT": [TINY_STACKS, { objective: "likelihood" }],
  "a reader that teaches what it reads": [TINY_MODELS["v1.1"]!, { objective: "likelihood" }],
} as const;

for (const [name, [config, part]] of Object.entries(MODELS))
  test(`${name}: held states change no gradient`, async () => {
    const options = { objective: "retrieval", ...part } as const;
    const trained = trainedBy(config, options);
    const examples = randomExamples(config, 4, 3).map((one) => ({ ...one, positives: [1] }));
    const objectives = objectivesOf(options.objective);
    for (const engine of ENGINES)
      for (const chunkQuestions of [4, 2]) {
        const [expected, actual] = await Promise.all(
          [false, true].map((holds) =>
            computeStep(
              engine,
              config,
              trainedStates(config),
              { trained, holds },
              {
                ...{ examples, objectives, chunkQuestions },
              },
            ),
          ),
        );
        const what = `${engine}, ${chunkQuestions} questions a chunk`;
        assertNear([actual!.loss], [expected!.loss], 1e-5, what);
        // A key bias shifts all scores of a query alike, so its gradient is 0 but for rounding.
        for (const [key, gradient] of selectTrained(trained, expected!.gradients)) {
          // With a teacher, that of the scale is a small difference of sums as large as the loss.
          const isDifference = key === LOG_SCALE && options.objective === "likelihood";
          const sums = isDifference ? expected!.loss : 0;
          const [found, wanted] = [actual!.gradients.get(key)!, gradient].map((values) =>
            Array.from(values, (value) => value + sums),
          );
          if (!key.endsWith(".key.bias")) assertNear(found!, wanted!, 1e-4, `${what}, ${key}`);
        }
      }
  });

/** The settings of a run that shows whether the loss falls. */
const learning: Omit<TrainOptions, "model" | "out"> = {
  ...{ ...small, dev: undefined, holdOut: false, iterations: 1, questions: 4, learningRate: 0.01 },
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
    const all = countLayers(config.retrieval);
    const own = new RegExp(`^retrieval\\.0\\.layer\\.[${all - (layers ?? all)}-9]\\.`);
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
