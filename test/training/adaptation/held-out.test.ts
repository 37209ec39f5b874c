/** How many examples an adaptation holds out to measure retrieval. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { maxHeldOut } from "../../../src/training/adaptation/adaptation.ts";
import { monitoredPassages } from "../../../src/training/adaptation/monitor-set.ts";
import { heldOutCount } from "../../../src/training/examples/held-out.ts";

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
  assert.is(monitoredPassages({ minutes: undefined }, 5_183), 1_000);
  assert.is(monitoredPassages({ minutes: 10 }, 5_183), 600);
  assert.is(monitoredPassages({ minutes: undefined }, 30), 30);
});

test.run();
