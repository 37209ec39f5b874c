import { test } from "uvu";
import * as assert from "uvu/assert";
import { learningRateAt, type ScheduleChange } from "../../../src/training/run/schedule.ts";
import { assertNear } from "../../support/arrays.ts";

const cycle = { first: 0, steps: 20, peak: 1, warmUp: 0.1 };
const rates = (last: number, changes: readonly ScheduleChange[]): number[] =>
  Array.from({ length: last }, (_, i) => learningRateAt(i + 1, cycle, changes));

test("a reduction halves the rate from the next step on, after a warm-up of five steps", () => {
  const [before, after] = [rates(20, []), rates(20, [{ step: 8, restored: 4 }])];
  assert.equal(after.slice(0, 8), before.slice(0, 8));
  const shares = after.map((rate, i) => rate / before[i]!);
  assertNear(
    shares.slice(8, 14),
    [1, 2, 3, 4, 5, 6].map((step) => (0.5 * step) / 6),
    1e-12,
  );
  assertNear(shares.slice(14), Array(6).fill(0.5), 1e-12);
  const twice = rates(20, [
    { step: 2, restored: 0 },
    { step: 8, restored: 0 },
  ]);
  assertNear(
    twice.slice(14).map((rate, i) => rate / before[14 + i]!),
    Array(6).fill(0.25),
    1e-12,
  );
});

test("a reduction lasts for the iterations that follow", () => {
  const second = { first: 20, steps: 20, peak: 1, warmUp: 0.1 };
  assert.is(learningRateAt(22, second, [{ step: 8, restored: 4 }]), 0.5);
});

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
