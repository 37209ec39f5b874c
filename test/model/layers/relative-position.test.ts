/** Buckets of distances, compared with PyTorch's, and the bias of attention scores. */

import { readFileSync } from "node:fs";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { MASKED } from "../../../src/model/layers/attention.ts";
import { positionBuckets, relativeBias } from "../../../src/model/layers/relative-position.ts";
import { at, naiveOps, tabulate } from "../../support/naive-ops.ts";
import { tinyConfig } from "../../support/tiny-model.ts";

interface Table {
  readonly stack: "encoder" | "decoder";
  readonly buckets: number;
  readonly maxDistance: number;
  /** The first distance of each run of equal buckets. */
  readonly first: readonly (readonly [distance: number, bucket: number])[];
}

const { tables }: { tables: Table[] } = JSON.parse(
  readFileSync("test/model/layers/relative-position-buckets.json", "utf8"),
);

for (const { stack, buckets, maxDistance, first } of tables) {
  test(`buckets of the ${stack}, ${buckets} up to distance ${maxDistance}, equal PyTorch's`, () => {
    const config = tinyConfig({ relativeBuckets: buckets, relativeMaxDistance: maxDistance });
    const positions = positionBuckets(config, stack, 601);
    for (let distance = -600; distance <= (stack === "decoder" ? 0 : 600); distance++) {
      const expected = first.findLast(([start]) => start <= distance)![1];
      const query = Math.max(0, -distance);
      assert.is(at(positions, [query, query + distance]), expected, `distance ${distance}`);
      assert.is(
        at(positions, [600 - Math.max(0, distance), 600 + Math.min(0, distance)]),
        expected,
      );
    }
  });
}

test("in the decoder, later keys have the masked bucket", () => {
  const config = tinyConfig();
  const positions = positionBuckets(config, "decoder", 5);
  for (let query = 0; query < 5; query++)
    for (let key = 0; key < 5; key++)
      assert.is(at(positions, [query, key]) === config.relativeBuckets, key > query);
});

test("queries after cached keys have the last rows of the whole table of buckets", () => {
  const config = tinyConfig();
  for (const stack of ["encoder", "decoder"] as const) {
    const whole = positionBuckets(config, stack, 30);
    for (const first of [0, 1, 7, 29])
      assert.equal(
        positionBuckets(config, stack, 30 - first, 30, first),
        naiveOps.slice(whole, 0, first),
      );
  }
});

test("the bias is the table's value for head and bucket, and masks later keys", () => {
  const config = tinyConfig();
  const { heads } = config.decoder;
  const table = tabulate([config.relativeBuckets, heads], ([bucket, head]) => 10 * bucket! + head!);
  const buckets = positionBuckets(config, "decoder", 3, 4, 1);
  const bias = relativeBias(naiveOps, table, buckets);
  assert.equal(bias.shape, [1, heads, 3, 4]);
  for (let head = 0; head < heads; head++)
    for (let query = 0; query < 3; query++)
      for (let key = 0; key < 4; key++) {
        const distance = key - (query + 1);
        // Buckets 0 to 3 are the distances themselves.
        assert.is(at(bias, [0, head, query, key]), distance > 0 ? MASKED : -10 * distance + head);
      }
});

test("a masked score has the weight 0", () => {
  const scores = naiveOps.add(
    tabulate([1, 3], ([, key]) => 1000 * key!),
    tabulate([1, 3], ([, key]) => (key === 2 ? 2 * MASKED : 0)), // by mask and bias both
  );
  assert.equal([...naiveOps.softmax(scores).data], [0, 1, 0]);
  assert.is(Math.fround(Math.exp(MASKED)), 0);
});

test.run();
