import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Curve, Point } from "../../../src/training/report/charts.ts";
import { thin } from "../../../src/training/report/figure.ts";

const curve = (points: Point[]): Curve => ({ name: "curve", points });

test("few steps keep their values", () => {
  const points = Array.from({ length: 200 }, (_, step): Point => [step, step % 7]);
  const { steps, curves } = thin([curve(points)]);
  assert.equal(
    steps.map((step, i) => [step, curves[0]!.mean[i]]),
    points,
  );
  assert.equal(curves[0]!.low, curves[0]!.high);
});

test("curves share their steps; a curve without a value there has null", () => {
  const { steps, curves } = thin([
    curve([
      [0, 1],
      [4, 2],
    ]),
    curve([
      [2, 3],
      [4, 5],
    ]),
  ]);
  assert.equal(steps, [0, 2, 4]);
  assert.equal(
    curves.map(({ mean }) => mean),
    [
      [1, null, 2],
      [null, 3, 5],
    ],
  );
});

test("many steps become 200: nothing is left out, and every peak is in a range", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 201, maxLength: 900 }),
      (values) => {
        const { steps, curves } = thin([curve(values.map((value, step): Point => [step, value]))]);
        assert.is(steps.length, 200);
        let start = 0;
        for (const [i, step] of steps.entries()) {
          const some = values.slice(start, step + 1);
          assert.is(curves[0]!.low[i], Math.min(...some));
          assert.is(curves[0]!.high[i], Math.max(...some));
          const mean = some.reduce((a, b) => a + b) / some.length;
          assert.ok(Math.abs(curves[0]!.mean[i]! - mean) < 1e-9);
          start = step + 1;
        }
        assert.is(start, values.length);
      },
    ),
    { numRuns: 30 },
  );
});

test.run();
