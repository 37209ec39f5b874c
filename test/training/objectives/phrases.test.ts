/**
 * The phrase losses of a training batch: values against loops over the encoded texts. The tokens of
 * earlier steps are those of a batch that has their passages.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { inferenceContext } from "../../../src/model/layers/context.ts";
import { chunksOf } from "../../../src/training/gradient-cache/chunks.ts";
import type { StepKeys } from "../../../src/training/gradient-cache/pre-batch.ts";
import { modelOutputs } from "../../../src/training/objectives/forward.ts";
import { labels } from "../../../src/training/objectives/labels.ts";
import { needsOf, type Objective } from "../../../src/training/objectives/objective.ts";
import type { ModelOutputs } from "../../../src/training/objectives/outputs.ts";
import { type ChunkInputs, chunkPass } from "../../../src/training/objectives/passes.ts";
import { answerPhrases } from "../../../src/training/objectives/phrases.ts";
import {
  type TokenExample,
  withDistinctPassages,
} from "../../../src/training/objectives/token-batch.ts";
import { buildTrainedParameters } from "../../../src/training/objectives/trained-parameters.ts";
import { assertNear } from "../../support/arrays.ts";
import { type NaiveTensor, naiveOps } from "../../support/naive-ops.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";
import { computeStep, ENGINES, trainsAll } from "../../support/training-step.ts";

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
const states = trainedStates(config);
const context = inferenceContext(naiveOps, config);
const contexts = { questions: context, passages: context };
const parameters = buildTrainedParameters<NaiveTensor>(
  naiveOps,
  config,
  { trained: trainsAll(states) },
  (name, shape) => ({ data: states.get(name)!.value, shape }),
);

/** The inputs, the outputs and the loss of the whole batch. */
function computed(objective: Objective) {
  const plan = { objectives: [objective] };
  const distinct = examples.map(withDistinctPassages);
  const [chunk] = chunksOf(config, distinct, examples.length, plan, [objective]);
  const input = chunk!.tensors as unknown as ChunkInputs<NaiveTensor>;
  const outputs = modelOutputs(contexts, parameters, input, needsOf([objective]), {});
  return { input, outputs, loss: chunkPass(contexts, parameters, input, plan).loss.data[0]! };
}

/** Loops over the tokens of a chunk whose passages and questions are encoded. */
function loops(
  input: ChunkInputs<NaiveTensor>,
  { phraseQueries, keys }: ModelOutputs<NaiveTensor>,
) {
  const [passages, , m, size] = keys.shape as [number, number, number, number];
  const ids = (passage: number) => [
    ...input.passageIds.data.slice(passage * m, passage * m + m).filter((id) => id !== 0),
  ];
  const all = Array.from({ length: passages }, (_, passage) => ids(passage));
  const rowOf = (wanted: readonly number[]) => all.findIndex((found) => `${found}` === `${wanted}`);
  const logit = (question: number, side: number, passage: number, token: number): number => {
    const vector = phraseQueries.data.slice((2 * question + side) * size);
    const key = keys.data.slice((passage * m + token) * size);
    return Array.from({ length: size }, (_, i) => vector[i]! * key[i]!).reduce((a, b) => a + b);
  };
  const logSum = (question: number, side: number, tokens: readonly (readonly number[])[]) =>
    Math.log(tokens.reduce((sum, [p, t]) => sum + Math.exp(logit(question, side, p!, t!)), 0));
  const tokensOf = (list: readonly (readonly number[])[]) =>
    list.flatMap((passage) => passage.map((_, token) => [rowOf(passage), token]));
  return { rowOf, logit, logSum, tokensOf };
}

test("the loss is that of loops over the tokens that count", () => {
  const { input, outputs, loss } = computed(answerPhrases());
  const { rowOf, logSum, tokensOf } = loops(input, outputs);
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
  assertNear([loss], [expected], 1e-5);
});

for (const engine of ENGINES)
  test(`${engine}: tokens of earlier steps are negatives once`, async () => {
    const compute = async (batch: TokenExample[], earlier?: readonly StepKeys[]) => {
      let keys: Omit<StepKeys, "step"> | undefined;
      const { terms, gradients } = await computeStep(
        engine,
        config,
        states,
        {},
        {
          ...{ examples: batch, objectives: [answerPhrases(), labels()], earlier },
          ...(earlier && { onKeys: (ofBatch) => (keys = ofBatch) }),
        },
      );
      const ofQueries = [...gradients].filter(([name]) => name.startsWith("phrase_query."));
      return { loss: terms.phrases!, gradients: ofQueries.flatMap(([, own]) => [...own]), keys };
    };
    // A is there already, C is relevant to the first question. Passages have different lengths.
    const other: TokenExample = {
      ...{ question: [8, 1], answer: [], positives: [0] },
      passages: [[11, 4, 10, 4, 3, 2, 1], A, C],
    };
    const asked = examples.slice(0, 2);
    const expected = await compute([...asked, other]);
    const { keys } = await compute([other], []);
    const earlier = [2, 1].map((step) => ({ step, ...keys! }));
    const actual = await compute(asked, earlier);
    assertNear([actual.loss], [expected.loss], 2e-5);
    assertNear(actual.gradients, expected.gradients, 2e-4);
    const none = await compute(asked, []);
    assertNear([none.loss], [(await compute(asked)).loss], 1e-6);
    assert.ok(expected.loss - none.loss > 0.1);
  });

test.run();
