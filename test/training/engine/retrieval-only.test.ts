/**
 * The objective `retrieval` and pre-batch negatives on each engine: losses against loops in float64
 * over the engine's scores, and the parameters that take no part.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { mean } from "../../../src/math/mean.ts";
import { retrievalRows } from "../../../src/model/config.ts";
import { trainingEngine } from "../../../src/training/engine/engine.ts";
import type { ParameterState } from "../../../src/training/engine/optimizer.ts";
import {
  openPreBatchQueue,
  type StepKeys,
} from "../../../src/training/gradient-cache/pre-batch.ts";
import { type ObjectiveName, objectivesOf } from "../../../src/training/objectives/index.ts";
import type { TokenExample } from "../../../src/training/objectives/token-batch.ts";
import { LOG_SCALE, selectTrained } from "../../../src/training/objectives/trained-parameters.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";
import { type ComputedStep, computeStep, ENGINES, trainedBy } from "../../support/training-step.ts";

const config = tinyConfig();
const TOLERANCE = 1e-4; // float32
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

const A = [5, 6, 1];
const B = [7, 8, 9, 1];
const C = [6, 6, 1];
const D = [9, 5, 7, 1];
const E = [8, 1];
const PASSAGES: readonly (readonly number[])[] = [A, B, C, D, E]; // in the order of the batch
const TEMPERATURE = 2;

const example = (question: number, rest: Omit<TokenExample, "question" | "answer">) => ({
  question: [5 + question, 9, 1],
  answer: [6, 1],
  ...rest,
});
/** Positives; positives and scores; scores; neither. */
const examples: TokenExample[] = [
  example(0, { passages: [A, B], positives: [0, 1], notNegatives: [C] }),
  example(1, { passages: [B, C], positives: [0], scores: [3, 1] }),
  example(2, { passages: [A, D, B], scores: [2, undefined, 1] }),
  example(3, { passages: [E, A] }),
];

/** The loss of the three questions that have a target. */
function expectedLoss(scores: readonly (readonly number[])[], logScale: number): number {
  const logit = (q: number, passage: readonly number[]): number =>
    Math.exp(logScale) * scores[q]![PASSAGES.indexOf(passage)]!;
  const losses = examples.slice(0, 3).map((one, q) => {
    const { passages, positives = [], scores: given = [], notNegatives = [] } = one;
    const weight = (passage: readonly number[]): number => Math.exp(logit(q, passage));
    const counted = PASSAGES.filter((passage) => !notNegatives.includes(passage));
    const contrast =
      positives.length === 0
        ? 0
        : Math.log(sum(counted.map(weight)) / sum(positives.map((k) => weight(passages[k]!))));
    const scored = given.flatMap((score, k) => (score === undefined ? [] : k));
    const teacher = scored.map((k) => Math.exp(given[k]! / TEMPERATURE));
    const student = scored.map((k) => weight(passages[k]!));
    return (
      contrast +
      sum(
        scored.map((_, i) => {
          const share = teacher[i]! / sum(teacher);
          return share * Math.log(share / (student[i]! / sum(student)));
        }),
      )
    );
  });
  return mean(losses);
}

interface Computed extends ComputedStep {
  readonly keys: Omit<StepKeys, "step"> | undefined;
}

async function compute(
  engine: keyof typeof BACKENDS,
  batch: readonly TokenExample[],
  {
    objective = "retrieval",
    chunkQuestions = batch.length,
    earlier,
  }: { objective?: ObjectiveName; chunkQuestions?: number; earlier?: readonly StepKeys[] } = {},
): Promise<Computed> {
  const states = trainedStates(config);
  const trained = trainedBy(config, { objective });
  let keys: Omit<StepKeys, "step"> | undefined;
  const settings = { alpha: 1, scoreTemperature: TEMPERATURE };
  const computed = await computeStep(
    engine,
    config,
    states,
    { trained },
    {
      ...{
        examples: batch,
        objectives: objectivesOf(objective, settings),
        chunkQuestions,
        earlier,
      },
      ...(earlier ? { onKeys: (ofBatch) => (keys = ofBatch) } : { watched: ["scores"] }),
    },
  );
  return { ...computed, keys };
}

const scaleGradient = ({ gradients }: Computed): number => gradients.get(LOG_SCALE)![0]!;

/** The scores of a batch of one chunk: [questions][passages] */
function scoresOf({ watched }: Computed): number[][] {
  const { data, shape } = watched.scores![0]!;
  const [rows, columns] = shape as [number, number];
  return Array.from({ length: rows }, (_, row) => [
    ...data.subarray(row * columns, (row + 1) * columns),
  ]);
}

for (const engine of ENGINES) {
  test(`${engine}: the loss of positives and scores`, async () => {
    const computed = await compute(engine, examples);
    const scores = scoresOf(computed);
    const logScale = trainedStates(config).get(LOG_SCALE)!.value[0]!;
    const lossAt = (s: number): number => expectedLoss(scores, s);
    assertNear([computed.loss], [lossAt(logScale)], TOLERANCE);
    const step = 1e-4;
    const slope = (lossAt(logScale + step) - lossAt(logScale - step)) / (2 * step);
    assertNear([scaleGradient(computed)], [slope], TOLERANCE, "gradient of the log scale");
    const chunked = await compute(engine, examples, { chunkQuestions: 1 });
    assertNear([chunked.loss], [computed.loss], TOLERANCE, "in chunks");
    assertNear([scaleGradient(chunked)], [slope], TOLERANCE, "in chunks");
  });

  for (const objective of ["retrieval", "supervised"] as const)
    test(`${engine}: ${objective}: passages of earlier steps are negatives once`, async () => {
      // A question without a target has no loss in `retrieval`, and adds its passages to Z.
      const [first, second] = examples as [TokenExample, TokenExample, ...TokenExample[]];
      const with_ = (passages: readonly (readonly number[])[]): TokenExample[] => [
        { ...first, passages: [A, B], notNegatives: [C] },
        { ...second, scores: [], passages: [B, D] },
        example(3, { passages }),
      ];
      const expected = await compute(engine, with_([E, A, C]), { objective: "retrieval" });
      // The keys of an earlier step, with A twice, and C, which is relevant to the first question.
      const { keys } = await compute(engine, [example(3, { passages: [E, A, C] })], {
        objective,
        earlier: [],
      });
      const earlier = [
        { step: 2, ...keys! },
        { step: 1, ...keys! },
      ];
      for (const chunkQuestions of [2, 1]) {
        const batch = with_([]).slice(0, 2);
        const actual = await compute(engine, batch, { objective, chunkQuestions, earlier });
        assertNear([actual.terms.labels!], [expected.terms.labels!], TOLERANCE);
        assertNear([scaleGradient(actual)], [scaleGradient(expected)], TOLERANCE);
        assert.is(actual.keys!.names.length, 3);
      }
    });

  test(`${engine}: parameters that take no part keep their bits`, async () => {
    for (const queryEncoder of [false, true]) {
      const withCopy = { ...config, queryEncoder };
      const [before, states] = [trainedStates(withCopy), trainedStates(withCopy)];
      const trained = trainedBy(withCopy, { objective: "retrieval" });
      const options = { trained, dropout: 0.1, withoutDecay: new Set(trained.rows.keys()) };
      const objectives = objectivesOf("retrieval");
      const backend = await BACKENDS[engine](withCopy, states, options);
      await using training = trainingEngine(withCopy, states, options, backend);
      for (let step = 1; step <= 3; step++)
        await training.step({
          ...{ examples, objectives, step, learningRate: 0.01, key: "key" },
        });
      await training.parameters();
      const taking = selectTrained(trained, states);
      assert.not(taking.has("decoder.final_layer_norm.weight"));
      assert.not(taking.has("joint.0.layer.0.layer.1.layer_norm.weight"));
      assert.not(taking.has("joint.0.layer.0.layer.0.SelfAttention.v.weight"));
      assert.ok(taking.has("shared.0.layer.0.layer.1.layer_norm.weight"));
      assert.ok(taking.has("joint.0.layer.0.layer.0.layer_norm.weight"));
      for (const [name, { value, firstMoment, secondMoment }] of states) {
        if (taking.has(name)) {
          assert.not.equal(value, before.get(name)!.value, name);
          continue;
        }
        assert.equal(value, before.get(name)!.value, name);
        assert.ok(
          [...firstMoment, ...secondMoment].every((moment) => moment === 0),
          name,
        );
      }
      const query = queryEncoder
        ? "query_encoder.query"
        : "joint.0.layer.0.layer.0.SelfAttention.q";
      for (const name of [`${query}.weight`, "joint.0.layer.0.layer.0.SelfAttention.k.weight"]) {
        const others = retrievalRows(config)[0] * config.modelSize; // the last head
        const rows = (of: ReadonlyMap<string, ParameterState>) =>
          of.get(name)!.value.subarray(0, others);
        assert.equal(rows(states), rows(before), `other heads of ${name}`);
      }
    }
  });
}

test("the queue keeps the newest steps", () => {
  const queue = openPreBatchQueue(2);
  const tensor = { data: new Float32Array(1), shape: [1] };
  for (const step of [1, 2, 3]) queue.add({ step, names: [], keys: tensor, passageMask: tensor });
  assert.equal(
    queue.entries.map(({ step }) => step),
    [3, 2],
  );
});

test.run();
