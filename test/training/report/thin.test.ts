import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Point } from "../../../src/training/report/charts.ts";
import { thin } from "../../../src/training/report/thin.ts";

test("few points stay as they are", () => {
  assert.equal(thin([[3, 5]]), [{ step: 3, mean: 5, low: 5, high: 5 }]);
  const points = Array.from({ length: 200 }, (_, step): Point => [step, step % 7]);
  assert.equal(
    thin(points).map(({ step, mean }) => [step, mean]),
    points,
  );
});

test("many become 200: nothing is left out, and every peak is in a range", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 201, maxLength: 900 }),
      (values) => {
        const buckets = thin(values.map((value, step): Point => [step, value]));
        assert.is(buckets.length, 200);
        let start = 0;
        for (const { step, mean, low, high } of buckets) {
          const some = values.slice(start, step + 1);
          assert.is(low, Math.min(...some));
          assert.is(high, Math.max(...some));
          assert.ok(Math.abs(mean - some.reduce((a, b) => a + b) / some.length) < 1e-9);
          start = step + 1;
        }
        assert.is(start, values.length);
      },
    ),
    { numRuns: 30 },
  );
});

test.run();
