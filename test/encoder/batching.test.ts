/** Batches by length, and padding. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { batchesByLength, padBatch } from "../../src/encoder/batching.ts";

test("batches contain each sequence once, longest first, within the limit of tokens", () => {
  const lengths = Array.from({ length: 500 }, (_, i) => 1 + ((i * 7919) % 700));
  const batches = batchesByLength(lengths, 1000);
  assert.equal(
    batches.flat().sort((a, b) => a - b),
    [...lengths.keys()],
  );
  const longest = batches.map((batch) => Math.max(...batch.map((i) => lengths[i]!)));
  assert.equal(
    longest,
    longest.toSorted((a, b) => b - a),
  );
  for (const [i, batch] of batches.entries())
    assert.ok(
      batch.length * longest[i]! <= 1000,
      `${batch.length} sequences of ${longest[i]} tokens`,
    );
  assert.equal(batchesByLength([5000, 1], 1000), [[0], [1]]); // too long for a batch
});

test("padBatch pads on either side", () => {
  const left = padBatch([[5], [6, 7]], "left", 9);
  assert.equal([...left.ids.data], [9, 5, 6, 7]);
  assert.equal([...left.mask.data], [0, 1, 1, 1]);
  const right = padBatch([[5], [6, 7]], "right", 9);
  assert.equal([...right.ids.data], [5, 9, 6, 7]);
  assert.equal([...right.mask.data], [1, 0, 1, 1]);
  assert.equal(right.mask.shape, [2, 2]);
});

test.run();
