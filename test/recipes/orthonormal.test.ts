/** recipes/reatt-mini/weights/orthonormal.ts: products of all pairs of rows. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { orthonormalRows } from "../../recipes/reatt-mini/weights/orthonormal.ts";

test("rows have length 1 and are orthogonal", () => {
  const rows = orthonormalRows(5, { size: 9, seed: "rows" });
  assert.is(rows.length, 5);
  for (const [i, row] of rows.entries()) {
    for (const [j, other] of rows.entries()) {
      const product = row.reduce((sum, x, k) => sum + x * other[k]!, 0);
      assert.ok(Math.abs(product - (i === j ? 1 : 0)) < 1e-6, `rows ${i} and ${j}: ${product}`);
    }
  }
});

test.run();
