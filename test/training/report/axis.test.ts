import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { scaleLinear, ticksAround, wholeTicksWithin } from "../../../src/training/report/axis.ts";

test("ticks are what a person would have chosen", () => {
  assert.equal(ticksAround(0, 1), [0, 0.25, 0.5, 0.75, 1]);
  assert.equal(ticksAround(0, 0.3), [0, 0.1, 0.2, 0.3]);
  assert.equal(ticksAround(0.52, 0.96), [0.4, 0.6, 0.8, 1]);
  assert.equal(ticksAround(0, 5e-5), [0, 2e-5, 4e-5, 6e-5]);
  assert.equal(ticksAround(-3, 18), [-10, 0, 10, 20]);
  assert.equal(ticksAround(1, 1), [1, 1.25]);
  assert.equal(ticksAround(0, 0), [0, 0.25]);
  assert.equal(wholeTicksWithin(0, 8_000), [0, 2_000, 4_000, 6_000, 8_000]);
  assert.equal(wholeTicksWithin(1, 1_600), [500, 1_000, 1_500]);
  assert.equal(wholeTicksWithin(0, 3), [0, 1, 2, 3]);
  assert.equal(wholeTicksWithin(7, 7), [7]);
});

test("ticks enclose the values, evenly and few", () => {
  const value = fc.double({ min: -1e9, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(value, value, (a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      fc.pre(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-200)); // where doubles have digits left
      const ticks = ticksAround(low, high);
      const distance = ticks[1]! - ticks[0]!;
      const slack = 1e-6 * distance;
      assert.ok(ticks[0]! <= low + slack && ticks.at(-1)! >= high - slack, `${ticks}`);
      assert.ok(ticks.length >= 2 && ticks.length <= 7, `${ticks}`);
      ticks.slice(1).forEach((tick, i) => {
        assert.ok(Math.abs(tick - ticks[i]! - distance) < 1e-3 * distance, `${ticks}`);
      });
    }),
  );
});

test("values are placed in proportion", () => {
  const place = scaleLinear(10, 20, 100, 0);
  assert.equal([10, 15, 20].map(place), [100, 50, 0]);
  assert.is(scaleLinear(4, 4, 0, 100)(4), 50);
});

test.run();
