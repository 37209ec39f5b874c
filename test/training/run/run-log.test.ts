/** Which evaluation is the best. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { bestEvaluation } from "../../../src/training/run/run-log.ts";

const evaluation = (step: number, exactMatch: number, recall: number, f1: number) => ({
  step,
  measures: { exactMatch, "recall@1": recall, f1 },
});

for (const [title, evaluations, best] of [
  [
    "the highest exact match",
    [evaluation(0, 0, 0, 0), evaluation(1, 0.3, 0, 0), evaluation(2, 0.2, 1, 1)],
    1,
  ],
  [
    "of equal exact match, what retrieves better",
    [evaluation(1, 0.2, 0.5, 0), evaluation(2, 0.2, 0.4, 1)],
    1,
  ],
  [
    "of equal retrieval, the higher F1",
    [evaluation(1, 0.2, 0.5, 0.4), evaluation(2, 0.2, 0.5, 0.3)],
    1,
  ],
  ["of equal ones, the last", [evaluation(1, 0.2, 0.5, 0.3), evaluation(2, 0.2, 0.5, 0.3)], 2],
  ["not the one before training", [evaluation(0, 1, 1, 1), evaluation(1, 0.5, 0, 0)], 1],
] as const)
  test(title, () => assert.is(bestEvaluation(evaluations)!.step, best));

test("there is none before the first", () => {
  assert.is(bestEvaluation([evaluation(0, 1, 1, 1)]), undefined);
});

test.run();
