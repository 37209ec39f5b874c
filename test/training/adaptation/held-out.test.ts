/** How many examples an adaptation holds out to measure retrieval. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { measuredWith } from "../../../src/training/adaptation/adaptation.ts";
import type { AdaptationInputs } from "../../../src/training/adaptation/inputs.ts";
import { heldOutCount, maxHeldOut } from "../../../src/training/examples/held-out.ts";

test("a quarter of few examples, up to 150, or a tenth up to 600, fewer in a short run", () => {
  const heldOut = (examples: number, minutes?: number): number =>
    heldOutCount(examples, maxHeldOut({ minutes }));
  assert.equal(
    [3, 9, 100, 500, 1_000, 2_000, 6_000, 20_000].map((count) => heldOut(count)),
    [0, 2, 25, 125, 150, 200, 600, 600],
  );
  assert.equal(
    [0.5, 10, 30, 120].map((minutes) => heldOut(20_000, minutes)),
    [10, 200, 600, 600],
  );
});

test("passages of a measurement", () => {
  const inputs = {
    ...{ questions: [], labels: Array(20_000), dev: undefined },
    sources: { labelFree: [], files: [] },
  } as unknown as AdaptationInputs;
  const passages = (corpus: number, minutes?: number): number =>
    measuredWith(inputs, { minutes }, corpus)!.passages;
  assert.is(passages(5_183), 1_000);
  assert.is(passages(5_183, 10), 600);
  assert.is(passages(30), 30);
  assert.is(measuredWith({ ...inputs, labels: [] }, {}, 30), undefined);
});

test.run();
