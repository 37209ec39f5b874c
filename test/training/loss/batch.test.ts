/** The tensors of a batch. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type BatchOptions,
  chunksOf,
  type TokenExample,
} from "../../../src/training/loss/batch.ts";
import { tinyConfig } from "../../support/tiny-model.ts";

test("the copy mask marks each occurrence of the whole answer", () => {
  const examples = [
    {
      question: [9, 1],
      answer: [5, 6, 1],
      passages: [
        [5, 6, 5, 6, 1],
        [6, 5, 1],
        [7, 5, 6, 1],
      ],
    },
    {
      question: [9, 9, 1],
      answer: [8, 8, 1],
      passages: [
        [8, 8, 8, 1],
        [8, 1],
        [7, 1],
      ],
    },
    {
      question: [9, 1],
      answer: [1],
      passages: [
        [5, 1],
        [6, 1],
        [7, 1],
      ],
    },
  ];
  const [chunk] = chunksOf(tinyConfig(), examples, 3, {
    objective: "qa",
    inBatchNegatives: true,
  });
  const { passageIds, questionIds, copyMask } = chunk!.tensors;
  const [n, m] = [questionIds.shape[1]!, passageIds.shape[1]!];
  const [T, fused] = [3, 3 * (n + m)];
  assert.equal(copyMask.shape, [3, T, fused]);
  const marked = [...copyMask.data].flatMap((one, i) => (one === 1 ? [i] : []));
  const position = (question: number, t: number, passage: number, token: number): number =>
    (question * T + t) * fused + passage * (n + m) + n + token;
  assert.equal(marked, [
    ...[position(0, 0, 0, 0), position(0, 0, 0, 2), position(0, 0, 2, 1)],
    ...[position(0, 1, 0, 1), position(0, 1, 0, 3), position(0, 1, 2, 2)],
    ...[position(1, 0, 0, 0), position(1, 0, 0, 1)],
    ...[position(1, 1, 0, 1), position(1, 1, 0, 2)],
  ]);
});

const [A, B, C, D] = [
  [5, 1],
  [6, 6, 1],
  [7, 1],
  [8, 8, 8, 1],
] as const;

/** The first rows of a tensor with the shape [Q, X]. */
const rows = ({ data, shape }: { data: ArrayLike<number>; shape: readonly number[] }): number[][] =>
  Array.from({ length: shape[0]! }, (_, row) =>
    Array.from(data).slice(row * shape[1]!, (row + 1) * shape[1]!),
  );

/** Which passages count in the normaliser of each question. */
const counted = (examples: readonly TokenExample[], options: Partial<BatchOptions> = {}) => {
  const all = { objective: "supervised", inBatchNegatives: true, ...options } as const;
  const [chunk] = chunksOf(tinyConfig(), examples, examples.length, all);
  return rows(chunk!.tensors.normaliserBias).map((row) => row.map((bias) => Number(bias === 0)));
};

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
  const options = { objective: "distillation", inBatchNegatives: true, copies: "each" } as const;
  const [chunk] = chunksOf(tinyConfig(), examples, 2, options);
  const twice = Math.fround(Math.log(2));
  assert.equal(rows(chunk!.tensors.normaliserBias), [
    [0, twice, 0],
    [0, twice, 0],
  ]);
});

test("equal candidates of a question are one candidate, and padding does not compete", () => {
  const examples = [
    { question, answer, passages: [A, B, C], positives: [2] },
    { question, answer, passages: [D, D, A], positives: [1] },
    { question, answer, passages: [B] },
  ];
  const options = { objective: "supervised", inBatchNegatives: false } as const;
  const [chunk] = chunksOf(tinyConfig(), examples, 3, options);
  const { candidateMask, positives, pairMask, candidateRows, candidatePositions } = chunk!.tensors;
  assert.is(chunk!.candidates, 3);
  assert.equal(rows(candidateMask), [
    [1, 1, 1],
    [1, 1, 0],
    [1, 0, 0],
  ]);
  assert.equal(rows(positives), [
    [0, 0, 1],
    [1, 0, 0],
    [0, 0, 0],
  ]);
  assert.equal([...candidateRows.data], [0, 1, 2, 3, 0, 0, 1, 0, 0]);
  assert.equal([...candidatePositions.data], [0, 1, 2, 7, 4, 4, 9, 8, 8]);
  const read = rows(pairMask).map((row) => row.some((mask) => mask === 1));
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
    { question, answer, passages: [C, D], notNegatives: [D, A] }, // no positives: target attention
  ];
  assert.equal(counted(examples), [
    [1, 0, 0, 1],
    [0, 1, 1, 1],
  ]);
  assert.equal(counted(examples, { objective: "distillation" }), [
    [1, 1, 0, 1],
    [0, 1, 1, 1],
  ]);
});

test("an example without an answer has no labels, and learns from its positives", () => {
  const examples = [
    { question, answer: [4, 4, 1], passages: [A, B], positives: [1] },
    { question, answer: [], passages: [C, D], positives: [0], notNegatives: [D] },
  ];
  const options = { objective: "distillation", inBatchNegatives: false } as const;
  const [chunk] = chunksOf(tinyConfig(), examples, 2, options);
  const { labelMask, batchLabels, positives, normaliserBias } = chunk!.tensors;
  assert.equal(rows(labelMask), [
    [1, 1, 1],
    [0, 0, 0],
  ]);
  assert.is(batchLabels.data[0], 3);
  assert.equal(rows(positives), [
    [0, 0],
    [1, 0],
  ]);
  assert.equal(
    rows(normaliserBias).map((row) => row.map((bias) => bias === 0)),
    [
      [true, true, false, false],
      [false, false, true, false],
    ],
  );
  const [alone] = chunksOf(tinyConfig(), [examples[1]!], 1, options);
  assert.equal([...alone!.tensors.labelMask.data], [0]);
  assert.is(alone!.tensors.batchLabels.data[0], 1);
});

test.run();
