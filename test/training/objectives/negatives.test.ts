/** Which passages count for a question, and the rows and positions of candidates. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { modelInputs } from "../../../src/training/objectives/model-inputs.ts";
import {
  candidatesOf,
  countedPassages,
  type Negatives,
  positivesOf,
} from "../../../src/training/objectives/negatives.ts";
import {
  type TokenExample,
  tokenBatch,
  withDistinctPassages,
} from "../../../src/training/objectives/token-batch.ts";
import { tinyConfig } from "../../support/tiny-model.ts";

const [A, B, C, D] = [
  [5, 1],
  [6, 6, 1],
  [7, 1],
  [8, 8, 8, 1],
] as const;

const batchOf = (examples: readonly TokenExample[]) =>
  tokenBatch(examples.map(withDistinctPassages));

/** The rows of a tensor with the shape [Q, X]. */
const rows = ({ data, shape }: { data: ArrayLike<number>; shape: readonly number[] }): number[][] =>
  Array.from({ length: shape[0]! }, (_, row) =>
    Array.from(data).slice(row * shape[1]!, (row + 1) * shape[1]!),
  );

/** Which passages count in the normaliser of each question. */
const counted = (
  examples: readonly TokenExample[],
  negatives?: Negatives,
  targetsOf = positivesOf,
): number[][] =>
  rows(countedPassages(batchOf(examples), targetsOf, negatives).bias).map((row) =>
    row.map((bias) => Number(bias === 0)),
  );

const question = [9, 1];
const answer = [4, 1];

test("a passage of several questions counts once", () => {
  const examples = [
    { question, answer, passages: [A, B] },
    { question, answer, passages: [B, C] },
  ];
  assert.equal(counted(examples), [
    [1, 1, 1],
    [1, 1, 1],
  ]);
  assert.equal(counted(examples, { inBatchNegatives: false }), [
    [1, 1, 0],
    [0, 1, 1],
  ]);
});

test("a passage that is relevant in another way is a negative only in D_q of the paper", () => {
  const examples = [
    { question, answer, passages: [A, B], positives: [0], notNegatives: [B, C] },
    { question, answer, passages: [C, D], positives: [0] },
  ];
  assert.equal(counted(examples), [
    [1, 0, 0, 1],
    [1, 1, 1, 1],
  ]);
  assert.equal(counted(examples, { relevantNegatives: true }), [
    [1, 1, 1, 1],
    [1, 1, 1, 1],
  ]);
});

test("equal candidates of a question are one candidate, and padding does not compete", () => {
  const examples = [
    { question, answer, passages: [A, B, C], positives: [2] },
    { question, answer, passages: [D, D, A], positives: [1] },
    { question, answer, passages: [B] },
  ];
  const batch = batchOf(examples);
  assert.is(batch.sizes.K, 3);
  assert.equal(
    batch.examples.map(({ positives }) => positives),
    [[2], [0], []],
  );
  const { isCandidate, pairMask, candidateRows, candidatePositions } = modelInputs(
    tinyConfig(),
    batch,
    true,
  );
  assert.equal(rows(isCandidate), [
    [1, 1, 1],
    [1, 1, 0],
    [1, 0, 0],
  ]);
  assert.equal([...candidateRows!.data], [0, 1, 2, 3, 0, 0, 1, 0, 0]);
  assert.equal([...candidatePositions.data], [0, 1, 2, 7, 4, 4, 9, 8, 8]);
  const read = rows(pairMask!).map((row) => row.some((mask) => mask === 1));
  assert.equal(read, [true, true, true, true, true, false, true, false, false]);
});

test("the null passage counts once for a batch", () => {
  const nothing = [2, 1];
  const examples = [A, B, C, D].map((passage) => ({
    ...{ question, answer },
    passages: [passage, nothing],
  }));
  const everything = [1, 1, 1, 1, 1];
  assert.equal(counted(examples), [everything, everything, everything, everything]);
});

test("relevant passages are no negatives, unless they are targets", () => {
  const examples = [
    { question, answer, passages: [A, B], positives: [0], notNegatives: [A, B, C] },
    { question, answer, passages: [C, D], notNegatives: [D, A] },
  ];
  assert.equal(counted(examples), [
    [1, 0, 0, 1],
    [0, 1, 1, 0],
  ]);
  assert.equal(counted(examples, {}, candidatesOf), [
    [1, 1, 0, 1],
    [0, 1, 1, 1],
  ]);
  const { counted: own } = countedPassages(batchOf(examples), positivesOf);
  assert.equal(rows(own), [
    [1, 0],
    [1, 0],
  ]);
});

test("an example without an answer has no labels", () => {
  const examples = [
    { question, answer: [4, 4, 1], passages: [A, B] },
    { question, answer: [], passages: [C, D] },
  ];
  const { labelMask } = modelInputs(tinyConfig(), batchOf(examples), true);
  assert.equal(rows(labelMask!), [
    [1, 1, 1],
    [0, 0, 0],
  ]);
  const alone = modelInputs(tinyConfig(), batchOf([examples[1]!]), true);
  assert.equal([...alone.labelMask!.data], [0]);
});

test.run();
