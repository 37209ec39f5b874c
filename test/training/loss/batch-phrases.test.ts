/**
 * The phrase loss of a training batch: its value against loops over the encoded texts, and its
 * gradients on each engine against central differences.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { inferenceContext } from "../../../src/model/layers/context.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import type { StepKeys } from "../../../src/training/gradient-cache/pre-batch.ts";
import { type Chunk, chunksOf, type TokenExample } from "../../../src/training/loss/batch.ts";
import { answerPhraseLoss, attentionPhraseLoss } from "../../../src/training/loss/chunk-phrases.ts";
import {
  type EncodedChunk,
  encodeChunk,
  encodeForRetrieval,
  type ReadingInputs,
  readTogether,
} from "../../../src/training/loss/forward.ts";
import type { ChunkInputs } from "../../../src/training/loss/graph-inputs.ts";
import { chunkLoss } from "../../../src/training/loss/loss-graph.ts";
import type { ObjectiveName } from "../../../src/training/loss/options.ts";
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
const batch = { alpha: 2, inBatchNegatives: true, dropout: 0 } as const;
const ALONE = { ...batch, objective: "retrieval", retrievalOnly: true } as const;
const READ = { ...batch, objective: "distillation" } as const;
type Options = typeof batch & {
  readonly objective: ObjectiveName;
  readonly retrievalOnly?: boolean;
  readonly phraseLoss?: number;
};
const withPhrases = (options: Options): Options => ({ ...options, phraseLoss: WEIGHT });
const states = trainedStates(config);
const chunkOf = (given: Options): Chunk => chunksOf(config, examples, examples.length, given)[0]!;
const context = inferenceContext(naiveOps, config);

type WeightOf = (name: string) => NaiveTensor | undefined;

const parametersOf = (weightOf: WeightOf) =>
  buildTrainedParameters<NaiveTensor>(naiveOps, config, {}, (name, shape) => {
    return weightOf(name) ?? { data: states.get(name)!.value, shape };
  });

const lossOf = (given: Options, weightOf: WeightOf = () => undefined): NaiveTensor => {
  const input = chunkOf(given).tensors as ChunkInputs<NaiveTensor>;
  return chunkLoss(context, parametersOf(weightOf), input, given).loss;
};

/** What the phrase loss adds to the loss, without its weight. */
const phraseLossOf = (options: Options): number => {
  const [without, withIt] = [options, withPhrases(options)].map((given) => lossOf(given).data[0]!);
  return (withIt! - without!) / WEIGHT;
};

/** Loops over the tokens of a chunk whose passages and questions are encoded. */
function loops(
  input: ChunkInputs<NaiveTensor>,
  { phraseQueries, keys }: Pick<EncodedChunk<NaiveTensor>, "phraseQueries" | "keys">,
) {
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
  return { rowOf, logit, logSum, tokensOf };
}

test("the loss is that of loops over the tokens that count", () => {
  const input = chunkOf(withPhrases(ALONE)).tensors as ChunkInputs<NaiveTensor>;
  const { model } = parametersOf(() => undefined);
  const encoded = encodeForRetrieval(context, model, input, {});
  const { rowOf, logSum, tokensOf } = loops(input, encoded);
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
  assertNear([phraseLossOf(ALONE)], [expected], 1e-5);
});

test("with a reader, the target is where the decoder looks in the candidates", () => {
  const input = chunkOf(withPhrases(READ)).tensors as ReadingInputs<NaiveTensor>;
  const { model } = parametersOf(() => undefined);
  const encoded = encodeChunk(context, model, input, {});
  const { tokenAttention } = readTogether(context, model, input, encoded);
  const [, T, columns] = tokenAttention.shape as [number, number, number];
  const [n, m] = [input.questionMask.shape[1]!, input.passageMask.shape[1]!];
  const { rowOf, logit, logSum, tokensOf } = loops(input, encoded);
  const everything = [A, B, C, D, [9, 9, 1]];
  const cases = [
    { own: [A, B], counted: [A, B, D, [9, 9, 1]], turns: [0, 1] },
    { own: [D, B, [9, 9, 1]], counted: everything, turns: [0, 0] },
    { own: [C, D], counted: everything, turns: [0, 0] },
  ];
  let expected = 0;
  for (const [question, { own, counted, turns }] of cases.entries())
    for (const [side, turn] of turns.entries()) {
      const looked = own.flatMap((passage, k) =>
        passage.map((_, token) => {
          const column = k * (n + m) + n + token;
          const share = tokenAttention.data[(question * T + turn) * columns + column]!;
          return { share, logit: logit(question, side, rowOf(passage), token) };
        }),
      );
      const total = looked.reduce((sum, { share }) => sum + share, 0);
      const mean = looked.reduce((sum, one) => sum + (one.share / total) * one.logit, 0);
      const normalisers = [own, counted].map((list) => logSum(question, side, tokensOf(list)));
      expected += (normalisers[0]! + normalisers[1]! - 2 * mean) / cases.length;
    }
  assertNear([phraseLossOf(READ)], [expected], 1e-5);
});

for (const options of [ALONE, READ])
  test(`${options.objective}: the gradients are central differences on each engine`, () =>
    checkGradients(options));

/** What the phrase loss adds to gradients. The target of the decoder's attention is a constant. */
async function checkGradients(options: Options): Promise<void> {
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
  const lossAt = phraseLossAt(options);
  const expected = centralDifferences(
    (_, ...given) => lossAt((name) => given[checked.indexOf(name)]),
    tensors,
  );
  for (const [engine, open] of Object.entries(BACKENDS)) {
    const gradientsOf = async (given: Options): Promise<Float32Array[]> => {
      await using backend = await open(config, states, given);
      backend.clearGradients();
      const accumulate = gradientAccumulator(config, backend.passes, given);
      const { objective } = given;
      const losses = await accumulate({ examples, chunkQuestions: 4, objective, key: ["key"] });
      assertNear([losses.loss], lossOf(given).data, 2e-4);
      if (given.phraseLoss) assertNear([losses.phraseLoss!], [phraseLossOf(options)], 2e-4);
      await backend.read(states.keys());
      return checked.map((name) => states.get(name)!.gradient.slice());
    };
    const without = await gradientsOf(options);
    const withIt = await gradientsOf(withPhrases(options));
    for (const [i, name] of checked.entries()) {
      const added = withIt[i]!.map((value, at) => (value - without[i]![at]!) / WEIGHT);
      assert.ok(expected[i]!.some((value) => Math.abs(value) > 1e-3));
      assertNear(added, expected[i]!, 2e-4, `${engine}, ${name}`);
    }
  }
}

/** The phrase loss by weights. The decoder's attention is that of the weights in `states`. */
function phraseLossAt(options: Options) {
  const chunk = chunkOf(withPhrases(options));
  if (options.objective === "retrieval") {
    const input = chunk.tensors as ChunkInputs<NaiveTensor>;
    return (weightOf: WeightOf): NaiveTensor => {
      const encoded = encodeForRetrieval(context, parametersOf(weightOf).model, input, {});
      return answerPhraseLoss(naiveOps, encoded, input);
    };
  }
  const input = chunk.tensors as ReadingInputs<NaiveTensor>;
  const encodedBy = (weightOf: WeightOf) => {
    const { model } = parametersOf(weightOf);
    return { model, encoded: encodeChunk(context, model, input, {}) };
  };
  const { model, encoded } = encodedBy(() => undefined);
  const { tokenAttention } = readTogether(context, model, input, encoded);
  return (weightOf: WeightOf): NaiveTensor =>
    attentionPhraseLoss(naiveOps, encodedBy(weightOf).encoded, input, tokenAttention);
}

for (const options of [ALONE, READ])
  for (const [engine, open] of Object.entries(BACKENDS))
    test(`${engine}, ${options.objective}: tokens of earlier steps are negatives once`, async () => {
      const given = withPhrases(options);
      const { objective } = given;
      await using backend = await open(config, states, given);
      const accumulate = gradientAccumulator(config, backend.passes, given);
      const ofQueries = [...states.keys()].filter((name) => name.startsWith("phrase_query."));
      const compute = async (batchExamples: TokenExample[], earlier?: readonly StepKeys[]) => {
        backend.clearGradients();
        let keys: Omit<StepKeys, "step"> | undefined;
        const losses = await accumulate({
          ...{ examples: batchExamples, chunkQuestions: 3, objective, key: ["key"], earlier },
          ...(earlier && { onKeys: (ofBatch) => (keys = ofBatch) }),
        });
        await backend.read(states.keys());
        const gradients = ofQueries.flatMap((name) => [...states.get(name)!.gradient]);
        return { phraseLoss: losses.phraseLoss!, gradients, keys };
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
      assertNear([actual.phraseLoss], [expected.phraseLoss], 2e-5);
      assertNear(actual.gradients, expected.gradients, 2e-4);
      const none = await compute(asked, []);
      assertNear([none.phraseLoss], [(await compute(asked)).phraseLoss], 1e-6);
      assert.ok(expected.phraseLoss - none.phraseLoss > 0.1);
    });

test("phrase queries are trained with retrieval, or with its head alone", () => {
  const ofPhrases = [...states.keys()].filter((name) => name.startsWith("phrase_query."));
  for (const part of ["retrievalOnly", "headOnly"]) {
    const trained = selectTrained(config, { [part]: true }, states);
    assert.ok(ofPhrases.every((name) => trained.has(name)));
  }
});

test.run();
