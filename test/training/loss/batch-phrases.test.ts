/**
 * The phrase loss of a training batch: its value against loops over the encoded texts, and its
 * gradients on each engine against central differences.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { inferenceContext } from "../../../src/model/layers/context.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import { type Chunk, chunksOf, type TokenExample } from "../../../src/training/loss/batch.ts";
import { encodeForRetrieval } from "../../../src/training/loss/forward.ts";
import type { ChunkInputs } from "../../../src/training/loss/graph-inputs.ts";
import { chunkLoss } from "../../../src/training/loss/loss-graph.ts";
import {
  buildTrainedParameters,
  selectTrained,
} from "../../../src/training/loss/trained-parameters.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { type NaiveTensor, naiveOps } from "../../support/naive-ops.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";

const config = tinyConfig({
  ...{ vocabularySize: 12, modelSize: 6, heads: 2, headSize: 3, feedForwardSize: 4 },
  ...{ retrievalHead: 1, phraseQueries: true },
});
const [A, B, C, D] = [
  [5, 6, 8, 6, 8, 1],
  [7, 9, 1],
  [6, 8, 4, 1],
  [3, 1],
] as const;
/**
 * The first answer occurs twice in its positive, and once in a passage that is not its negative.
 * The second has one token, in both positives. The third does not occur, the last is missing.
 * Passage B is there twice.
 */
const phrase = (candidate: number, first: number, last: number) => ({ candidate, first, last });
const examples: TokenExample[] = [
  {
    ...{ question: [5, 1], answer: [6, 8, 1], passages: [A, B], positives: [0], notNegatives: [C] },
    phrases: [phrase(0, 1, 2), phrase(0, 3, 4)],
  },
  {
    ...{ question: [7, 3, 1], answer: [9, 1], passages: [D, B, B, [9, 9, 1]], positives: [2, 3] },
    phrases: [phrase(2, 1, 1), phrase(3, 0, 0), phrase(3, 1, 1)],
  },
  { question: [4, 1], answer: [10, 1], passages: [C, D], positives: [0], phrases: [] },
  { question: [8, 1], answer: [], passages: [D], positives: [0] },
];
const WEIGHT = 1.5;
const objective = "retrieval";
const options = { alpha: 2, inBatchNegatives: true, dropout: 0, retrievalOnly: true } as const;
type Options = typeof options & { readonly phraseLoss?: number };
const withPhrases: Options = { ...options, phraseLoss: WEIGHT };
const states = trainedStates(config);
const chunkOf = (given: Options): Chunk =>
  chunksOf(config, examples, examples.length, { ...given, objective })[0]!;

const parametersOf = (weightOf: (name: string) => NaiveTensor | undefined) =>
  buildTrainedParameters<NaiveTensor>(naiveOps, config, options, (name, shape) => {
    return weightOf(name) ?? { data: states.get(name)!.value, shape };
  });

const lossOf = (
  given: Options,
  weightOf: (name: string) => NaiveTensor | undefined = () => undefined,
): NaiveTensor => {
  const input = chunkOf(given).tensors as ChunkInputs<NaiveTensor>;
  const context = inferenceContext(naiveOps, config);
  return chunkLoss(context, parametersOf(weightOf), input, { ...given, objective }).loss;
};

test("the loss is that of loops over the tokens that count", () => {
  const input = chunkOf(withPhrases).tensors as ChunkInputs<NaiveTensor>;
  const context = inferenceContext(naiveOps, config);
  const { model } = parametersOf(() => undefined);
  const { phraseQueries, keys } = encodeForRetrieval(context, model, input, {});
  const [passages, , m, size] = keys.shape as [number, number, number, number];
  const ids = (passage: number) => [
    ...input.passageIds.data.slice(passage * m, passage * m + m).filter((id) => id !== 0),
  ];
  const all = Array.from({ length: passages }, (_, passage) => ids(passage));
  const rowOf = (wanted: readonly number[]) => all.findIndex((found) => `${found}` === `${wanted}`);
  const logit = (question: number, side: number, passage: number, token: number): number => {
    const vector = phraseQueries!.data.slice((2 * question + side) * size);
    const key = keys.data.slice((passage * m + token) * size);
    return Array.from({ length: size }, (_, i) => vector[i]! * key[i]!).reduce((a, b) => a + b);
  };
  const logSum = (question: number, side: number, tokens: readonly (readonly number[])[]) =>
    Math.log(tokens.reduce((sum, [p, t]) => sum + Math.exp(logit(question, side, p!, t!)), 0));
  const tokensOf = (list: readonly (readonly number[])[]) =>
    list.flatMap((passage) => passage.map((_, token) => [rowOf(passage), token]));
  const [a, b, c] = [rowOf(A), rowOf(B), rowOf([9, 9, 1])];
  const cases = [
    {
      own: [A],
      counted: [A, B, D, [9, 9, 1]],
      at: [
        [
          [a, 1],
          [a, 3],
        ],
        [
          [a, 2],
          [a, 4],
        ],
      ],
    },
    {
      own: [B, [9, 9, 1]],
      counted: [A, B, C, D, [9, 9, 1]],
      at: [0, 1].map(() => [
        [b, 1],
        [c, 0],
        [c, 1],
      ]),
    },
  ];
  let expected = 0;
  for (const [question, { own, counted, at }] of cases.entries())
    for (const side of [0, 1])
      expected +=
        (logSum(question, side, tokensOf(own)) +
          logSum(question, side, tokensOf(counted)) -
          2 * logSum(question, side, at[side]!)) /
        2;
  const [without, withIt] = [options, withPhrases].map((given) => lossOf(given).data[0]!);
  assertNear([withIt! - without!], [WEIGHT * expected], 1e-5);
});

test("the gradients are central differences on each engine", async () => {
  const checked = [
    "phrase_query.start.pool.weight",
    "phrase_query.end.projection.weight",
    "encoder.block.1.layer.0.SelfAttention.k.weight",
    "encoder.block.0.layer.0.SelfAttention.v.weight",
  ];
  const tensors = checked.map((name) => {
    const { value: data, shape } = states.get(name)!;
    return { data, shape: [...shape] };
  });
  const expected = centralDifferences(
    (_, ...given) => lossOf(withPhrases, (name) => given[checked.indexOf(name)]),
    tensors,
  );
  for (const [engine, open] of Object.entries(BACKENDS)) {
    await using backend = await open(config, states, withPhrases);
    backend.clearGradients();
    const accumulate = gradientAccumulator(config, backend.passes, withPhrases);
    const losses = await accumulate({ examples, chunkQuestions: 4, objective, key: ["key"] });
    assertNear([losses.loss], lossOf(withPhrases).data, 2e-4);
    const phrases = (losses.loss - lossOf(options).data[0]!) / WEIGHT;
    assertNear([losses.phraseLoss!], [phrases], 2e-4);
    await backend.read(states.keys());
    for (const [i, name] of checked.entries()) {
      assert.ok(expected[i]!.some((value) => Math.abs(value) > 1e-3));
      assertNear(states.get(name)!.gradient, expected[i]!, 2e-4, `${engine}, ${name}`);
    }
  }
});

test("phrase queries are trained with retrieval, or with its head alone", () => {
  const ofPhrases = [...states.keys()].filter((name) => name.startsWith("phrase_query."));
  for (const part of ["retrievalOnly", "headOnly"]) {
    const trained = selectTrained(config, { [part]: true }, states);
    assert.ok(ofPhrases.every((name) => trained.has(name)));
  }
});

test.run();
