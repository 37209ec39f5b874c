/** The target of labelled questions. */

import { test } from "uvu";
import { supervisedTarget } from "../../../src/training/loss/supervised.ts";
import { assertNear } from "../../support/arrays.ts";
import { naiveOps as ops } from "../../support/naive-ops.ts";

test("the label is the target; without a label, the target attention is", () => {
  const relevance = { data: Float32Array.of(0, 1, 0, 0), shape: [2, 2] };
  const attention = { data: Float32Array.of(0.75, 0.25, 0.5, 0.5), shape: [2, 2] };
  assertNear(supervisedTarget(ops, relevance, attention).data, [0, 1, 0.5, 0.5], 0);
});

test.run();
