/**
 * The retrieval loss of a batch on each engine against loops in float64 over the engine's scores.
 * The batch has copies, questions with fewer candidates, sets of positives, relevant passages of
 * other questions, and an example without an answer.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { objectivesOf } from "../../../src/training/objectives/index.ts";
import type { TokenExample } from "../../../src/training/objectives/token-batch.ts";
import { LOG_SCALE } from "../../../src/training/objectives/trained-parameters.ts";
import { assertNear } from "../../support/arrays.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";
import { computeStep, ENGINES } from "../../support/training-step.ts";

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
  objective: "supervised" | "distillation",
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

for (const engine of ENGINES)
  for (const objective of ["supervised", "distillation"] as const)
    test(`${engine}: ${objective} over the different passages of the batch`, async () => {
      const states = trainedStates(config);
      const { terms, gradients, watched } = await computeStep(
        engine,
        config,
        states,
        {},
        {
          ...{ examples, objectives: objectivesOf(objective, { alpha: ALPHA }) },
          watched: ["scores", "attention"],
        },
      );
      const [scores, attention] = [watched.scores, watched.attention].map((chunks) => {
        const { data, shape } = chunks![0]!;
        const columns = shape[1]!;
        return examples.map((_, q) => [...data.subarray(q * columns, (q + 1) * columns)]);
      });
      assert.equal(
        scores!.map((row) => row.length),
        [6, 6, 6, 6],
      );
      const logScale = states.get(LOG_SCALE)!.value[0]!;
      const lossAt = (s: number): number => expectedKl(scores!, attention!, objective, s);
      assertNear([terms.kl! + terms.labels!], [lossAt(logScale)], TOLERANCE);
      const step = 1e-4;
      const slope = (lossAt(logScale + step) - lossAt(logScale - step)) / (2 * step);
      assertNear(
        gradients.get(LOG_SCALE)!,
        [ALPHA * slope],
        TOLERANCE,
        "gradient of the log scale",
      );
      for (const row of attention!) assertNear([sum(row)], [1], TOLERANCE);
      assert.is(attention![3]![2], 0, "padding");
      assert.ok(terms.ownProbability! < 1);
    });

test.run();
