/** `--train head`: its gradients are those of a whole step, and nothing else changes. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { mean } from "../../../src/math/mean.ts";
import { type ModelConfig, retrievalRows } from "../../../src/model/config.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterNames, TOKEN_WEIGHTS } from "../../../src/model/parameter-names.ts";
import { objectivesOf } from "../../../src/training/objectives/index.ts";
import type { TokenExample } from "../../../src/training/objectives/token-batch.ts";
import { LOG_SCALE } from "../../../src/training/objectives/trained-parameters.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { rejects } from "../../retrieval/support.ts";
import { finish } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { TINY_MODELS, withChanges } from "../../support/tiny-model.ts";
import {
  makeTinyModel,
  temporaryFolder,
  trainedStates,
  writeSmallRun,
  writeTinyModel,
} from "../../support/training.ts";
import { computeStep, ENGINES, trainedBy } from "../../support/training-step.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const TOLERANCE = 1e-4; // float32
const [A, B, C] = [
  [5, 6, 8, 1],
  [7, 9, 1],
  [6, 1],
];
const examples: TokenExample[] = [
  { question: [5, 1], answer: [], passages: [A!, B!], positives: [0] },
  { question: [7, 3, 1], answer: [], passages: [B!, C!], positives: [0], scores: [2, 1] },
];

const projections = (config: ModelConfig): string[] => {
  const { query, key } = parameterNames(config).heads;
  return [query.weight, key.weight];
};

/** The rows of the retrieval heads. */
const headRows = (config: ModelConfig, weight: Float32Array): Float32Array => {
  const [first, end] = retrievalRows(config);
  return weight.subarray(first * config.modelSize, end * config.modelSize);
};

const WEIGHTED = withChanges(TINY_MODELS["joint layers"]!, { tokenWeights: true });
const MODELS = ["v1.1", "backbone", "backbone and a block", "joint layers"].map(
  (name) => [name, TINY_MODELS[name]!] as const,
);

for (const [name, shape] of [...MODELS, ["weighted tokens", WEIGHTED] as const])
  for (const similarity of ["dot", "cosine"] as const)
    test(`${name}, ${similarity}: gradients from held states are those of a whole step`, async () => {
      const config = withChanges(shape, { similarity });
      const objectives = objectivesOf("retrieval");
      const states = () => trainedStates(config);
      const batch = { examples, objectives };
      const whole = await computeStep("onnxruntime", config, states(), {}, batch);
      const trained = trainedBy(config, { objective: "retrieval", part: "head" });
      for (const engine of ENGINES)
        for (const chunkQuestions of [2, 1]) {
          const setting = { trained, holds: true };
          const alone = await computeStep(engine, config, states(), setting, {
            ...{ ...batch, chunkQuestions },
          });
          const what = `${engine}, ${chunkQuestions} questions a chunk`;
          assertNear([alone.loss], [whole.loss], TOLERANCE, what);
          for (const key of projections(config))
            assertNear(
              headRows(config, alone.gradients.get(key)!),
              headRows(config, whole.gradients.get(key)!),
              TOLERANCE,
              `${what}, ${key}`,
            );
          for (const key of [
            LOG_SCALE,
            ...(config.retrievalAttention.tokenWeights ? [TOKEN_WEIGHTS] : []),
          ])
            assertNear(
              alone.gradients.get(key)!,
              whole.gradients.get(key)!,
              TOLERANCE,
              `${what}, ${key}`,
            );
        }
    });

const options: TrainOptions = {
  ...{ ...small, dev: undefined, holdOut: false, iterations: 1, questions: 4, learningRate: 0.01 },
  ...{ objective: "retrieval", train: "head", maxPassageTokens: 40 },
};

for (const [name, heads] of [
  ["v1.1", { retrievalHead: 2 }],
  ["backbone", { retrievalHead: 1, retrievalHeads: 2 }],
] as const)
  test(`${name}: it learns, and changes the rows of the head alone`, async () => {
    const model = join(folder.path, `${name} model`);
    const config = await makeTinyModel(model, withChanges(TINY_MODELS[name]!, heads));
    const out = join(folder.path, `${name} out`);
    const losses: number[] = [];
    await finish(train({ ...options, model, out, steps: 40, similarity: "cosine" }), (event) => {
      if (event.type === "step") losses.push(event.losses.loss);
    });
    assert.ok(mean(losses.slice(-5)) < 0.9 * mean(losses.slice(0, 5)), losses.join(" "));
    const [old, now] = [await loadWeights(model, config), await loadWeights(out, config)];
    const changed = [...now].filter(([key, values]) => !sameValues(values, old.get(key)!));
    assert.equal(changed.map(([key]) => key).sort(), projections(config).sort());
    for (const [key, values] of changed) {
      const own = headRows(config, values);
      assert.not(sameValues(own, headRows(config, old.get(key)!)));
      own.set(headRows(config, old.get(key)!)); // the others are as they were
      assert.ok(sameValues(values, old.get(key)!), key);
    }
  });

test("a run that mixes heads to the end says what the head that is kept has of the weight", async () => {
  const noteOf = async (tau: number): Promise<string[]> => {
    const out = join(folder.path, `mixed ${tau}`);
    const all = {
      ...options,
      out,
      train: "all",
      tau,
      steps: 1,
      learningRate: 0.1,
      seed: 6,
    } as const;
    return [...(await finish(train(all))).written!.notes];
  };
  const [note, ...others] = await noteOf(100);
  assert.equal(others, []);
  assert.match(
    note!,
    /^head \d retrieves alone, with 3\d\.\d % of the learned weight: .* smaller tau$/,
  );
  assert.equal(await noteOf(0.001), []);
});

const sameValues = (a: Float32Array, b: Float32Array): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

test("it needs an objective that trains retrieval, one head, and no query encoder", async () => {
  const refused: [Partial<TrainOptions>, RegExp][] = [
    [{ objective: "qa" }, /^train head: expected an objective that trains retrieval, got the obj/],
    [{ tau: 0.1 }, /^tau: expected training of all heads: train all or retrieval/],
    [{ layers: 1 }, /^layers: expected train retrieval, joint or query, got layers 1/],
  ];
  for (const [given, message] of refused)
    await rejects(finish(train({ ...options, ...given, out: join(folder.path, "no") })), message);
  const model = join(folder.path, "query encoder");
  mkdirSync(model);
  await writeTinyModel(model, { queryEncoder: true });
  await rejects(
    finish(train({ ...options, model, out: join(folder.path, "no") })),
    /^train head: expected a model that encodes questions and passages with the same layers, got/,
  );
});

test.run();
