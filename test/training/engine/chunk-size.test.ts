/** How many questions are computed together. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { chunkQuestions } from "../../../src/training/gradient-cache/chunk-size.ts";

const ids = (length: number): number[] => Array.from({ length }, () => 5);
const batch = (questions: number, passages: number, length: number) =>
  Array.from({ length: questions }, () => ({
    ...{ question: ids(10), answer: [] },
    passages: Array.from({ length: passages }, () => ids(length)),
  }));

test("a chunk has a divisor of the questions, with few tokens if they are read", () => {
  assert.is(chunkQuestions(batch(16, 2, 190), false), 16); // 6,400 tokens
  assert.is(chunkQuestions(batch(16, 2, 190), true), 4); // 1,600; 8 would be 3,200
  assert.is(chunkQuestions(batch(12, 2, 190), true), 6); // 2,400
  assert.is(chunkQuestions(batch(1, 100, 500), true), 1, "one at least");
});

test("long passages take more memory for a token, so fewer are computed at once", () => {
  // 4 passages of 520 tokens are 2,080, and count for 4,225
  assert.is(chunkQuestions(batch(16, 4, 510), false), 2);
  assert.is(chunkQuestions(batch(32, 2, 246), false), 16); // all are 16,384 tokens
});

test.run();
