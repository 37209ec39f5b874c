import { test } from "uvu";
import * as assert from "uvu/assert";
import { learningRateAt, type ScheduleChange } from "../../../src/training/run/schedule.ts";
import { assertNear } from "../../support/arrays.ts";

const cycle = { first: 0, steps: 20, peak: 1, warmUp: 0.1 };
const rates = (last: number, changes: readonly ScheduleChange[]): number[] =>
  Array.from({ length: last }, (_, i) => learningRateAt(i + 1, cycle, changes));

test("a new end continues from the present rate, and falls to 0 after it", () => {
  const before = rates(20, []);
  for (const last of [12, 60]) {
    const after = rates(last, [{ step: 10, last }]);
    assert.equal(after.slice(0, 10), before.slice(0, 10));
    assert.ok(after[10]! < after[9]!);
    const steps = last - 10;
    assertNear(after.slice(-1), [after[9]! / (steps + 1)], 1e-12);
    const falls = after.slice(10).map((rate, i) => after[9 + i]! - rate);
    assertNear(falls, Array(steps).fill(after[9]! / (steps + 1)), 1e-12);
  }
});

test("a new end before the warm-up is over does not exceed the peak", () => {
  const after = rates(40, [{ step: 1, last: 40 }]);
  assert.ok(Math.max(...after) <= 1);
  assert.ok(after[1]! > 0.9);
});

test.run();
