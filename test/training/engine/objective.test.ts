/**
 * The retrieval loss of a batch on each engine against loops in float64 over the engine's scores.
 * The batch has copies, questions with fewer candidates, sets of positives, relevant passages of
 * other questions, and an example without an answer.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { BatchLosses } from "../../../src/training/gradient-cache/batch-losses.ts";
import { openChunkDropout } from "../../../src/training/gradient-cache/chunk-dropout.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import type {
  GradientOptions,
  Tensors,
} from "../../../src/training/gradient-cache/gradient-passes.ts";
import { chunksOf, type TokenExample } from "../../../src/training/loss/batch.ts";
import type { ObjectiveName } from "../../../src/training/loss/options.ts";
import { LOG_SCALE } from "../../../src/training/loss/trained-parameters.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";

const config = tinyConfig();
const ALPHA = 2;
const TOLERANCE = 1e-4; // float32
const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

const [A, B, C, D, E, NULL] = [
  [5, 6, 1],
  [7, 8, 9, 1],
  [6, 6, 1],
  [9, 5, 7, 1],
  [8, 1],
  [2, 1],
];
const PASSAGES = [A, B, C, D, E, NULL].map((ids) => ids!);
const example = (question: number, rest: Omit<TokenExample, "question">): TokenExample => ({
  question: [5 + question, 9, 1],
  ...rest,
});
const examples: TokenExample[] = [
  example(0, { answer: [6, 1], passages: [A!, B!, NULL!], positives: [0] }),
  example(1, { answer: [8, 1], passages: [B!, C!, NULL!], positives: [0, 1], notNegatives: [A!] }),
  example(2, { answer: [], passages: [D!, A!, A!], positives: [1], notNegatives: [D!] }),
  example(3, { answer: [5, 1], passages: [E!, NULL!] }),
];

/** The loss of `copies: "once"`, with the scores of the engine and its target attention. */
function expectedKl(
  scores: readonly (readonly number[])[],
  attention: readonly (readonly number[])[],
  objective: ObjectiveName,
  logScale: number,
): number {
  const divergences = examples.map(({ answer, passages, positives = [], notNegatives = [] }, q) => {
    const logits = PASSAGES.map((_, u) => Math.exp(logScale) * scores[q]![order[u]!]!);
    const logitOf = (passage: readonly number[]): number =>
      logits[PASSAGES.indexOf(passage as number[])]!;
    const isKnown = positives.length > 0 && (objective === "supervised" || answer.length === 0);
    const targets = isKnown ? positives.map((k) => passages[k]!) : passages;
    const counted = PASSAGES.filter((d) => targets.includes(d) || !notNegatives.includes(d));
    const logZ = Math.log(sum(counted.map((d) => Math.exp(logitOf(d)))));
    if (isKnown) return logZ - Math.log(sum(targets.map((d) => Math.exp(logitOf(d)))));
    return sum(
      passages.map((d, k) => {
        const share = attention[q]![k]!;
        return share * (Math.log(share) - (logitOf(d) - logZ));
      }),
    );
  });
  return sum(divergences) / examples.length;
}

/** The column of each of `PASSAGES` in the scores: passages come in the order of the batch. */
const inBatchOrder = [A, B, NULL, C, D, E];
const order = PASSAGES.map((passage) => inBatchOrder.indexOf(passage));

async function compute(
  engine: keyof typeof BACKENDS,
  objective: ObjectiveName,
): Promise<{ losses: BatchLosses; ofScale: number }> {
  const states = trainedStates(config);
  const options = { alpha: ALPHA, inBatchNegatives: true, dropout: 0 };
  await using backend = await BACKENDS[engine](config, states, options);
  const accumulate = gradientAccumulator(config, backend.passes, options);
  backend.clearGradients();
  const losses = await accumulate({ examples, chunkQuestions: 4, objective, key: ["key"] });
  await backend.read([LOG_SCALE]);
  return { losses, ofScale: states.get(LOG_SCALE)!.gradient[0]! };
}

for (const engine of ["onnxruntime", "tensorflow"] as const) {
  for (const objective of ["supervised", "distillation"] as const)
    test(`${engine}: ${objective} over the different passages of the batch`, async () => {
      const { losses, ofScale } = await compute(engine, objective);
      const logScale = trainedStates(config).get(LOG_SCALE)!.value[0]!;
      const { scores, logProbabilities } = losses.retrieval!;
      assert.equal(
        scores.map((row) => row.length),
        [6, 6, 6, 6],
      );
      const { kl, target } = losses.distillation!;
      const klAt = (s: number): number => expectedKl(scores, target, objective, s);
      assertNear([kl], [klAt(logScale)], TOLERANCE);
      const step = 1e-4;
      const slope = (klAt(logScale + step) - klAt(logScale - step)) / (2 * step);
      assertNear([ofScale], [ALPHA * slope], TOLERANCE, "gradient of the log scale");
      for (const row of target) assertNear([sum(row)], [1], TOLERANCE);
      assert.equal(target.map((row) => row[2]! === 0).slice(2), [true, true], "padding");
      for (const row of logProbabilities) assert.ok(sum(row.map(Math.exp)) < 1 + TOLERANCE);
    });

  test(`${engine}: with querySide, keys are those of the index`, async () => {
    for (const querySide of [undefined, "projection"] as const) {
      const keys = (dropout: number) => vectorsOf(engine, { querySide, dropout });
      const [without, dropped] = [await keys(0), await keys(0.5)];
      assert.not.equal(dropped.queries!.data, without.queries!.data);
      if (querySide) assert.equal(dropped.keys!.data, without.keys!.data);
      else assert.not.equal(dropped.keys!.data, without.keys!.data);
    }
  });
}

/** Pass 1 of the gradient cache. */
async function vectorsOf(
  engine: keyof typeof BACKENDS,
  setting: Pick<GradientOptions, "querySide" | "dropout">,
): Promise<Tensors> {
  const options = { alpha: ALPHA, inBatchNegatives: true, ...setting };
  await using backend = await BACKENDS[engine](config, trainedStates(config), options);
  const [chunk] = chunksOf(config, examples, 4, { ...options, objective: "supervised" });
  const drawDropout = openChunkDropout(config, options);
  const [dropout] = drawDropout([chunk!], "supervised", ["key"]);
  return await backend.passes.vectors(chunk!, dropout!);
}

test.run();
