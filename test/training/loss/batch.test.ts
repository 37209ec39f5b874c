/** The tensors of a batch. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { chunksOf } from "../../../src/training/loss/batch.ts";
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
  const [chunk] = chunksOf(tinyConfig(), examples, 3, true);
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

test.run();
