/** How many examples an adaptation holds out to measure retrieval. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { maxHeldOut } from "../../../src/training/adaptation/example-counts.ts";
import { monitoredPassages } from "../../../src/training/adaptation/monitor-set.ts";
import { holdOut } from "../../../src/training/examples/held-out.ts";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test("a tenth of the examples, up to 600, fewer in a short run", () => {
  const heldOut = (examples: number, minutes?: number): number =>
    holdOut(numbers(examples), 1, maxHeldOut({ minutes })).heldOut.length;
  assert.equal(
    [9, 100, 6_000, 20_000].map((count) => heldOut(count)),
    [0, 10, 600, 600],
  );
  assert.equal(
    [0.5, 10, 30, 120].map((minutes) => heldOut(20_000, minutes)),
    [10, 200, 600, 600],
  );
});

test("both parts keep their order and share nothing", () => {
  const { training, heldOut } = holdOut(numbers(1_000), 7, 50);
  assert.is(heldOut.length, 50);
  const inOrder = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);
  assert.equal([training, heldOut], [inOrder(training), inOrder(heldOut)]);
  assert.equal(inOrder([...training, ...heldOut]), numbers(1_000));
});

test("passages of a measurement", () => {
  assert.is(monitoredPassages({ minutes: undefined }, 5_183), 1_000);
  assert.is(monitoredPassages({ minutes: 10 }, 5_183), 600);
  assert.is(monitoredPassages({ minutes: undefined }, 30), 30);
});

test.run();
