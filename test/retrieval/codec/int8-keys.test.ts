import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  encodeInt8Keys,
  int8Decoder,
  int8KeyBytes,
} from "../../../src/retrieval/codec/int8-keys.ts";

const LARGE = Math.fround(1e30);

/** Of each value of the key, half a step at most, and what float32 rounds. */
const isNear = (key: readonly number[], decoded: Float32Array): boolean => {
  const greatest = Math.max(...key.map(Math.abs));
  const step = greatest / 127;
  return key.every((value, i) => Math.abs(value - decoded[i]!) <= 0.5 * step + 1e-6 * greatest);
};

test("a value is half a step from what it was, of 127 steps to the greatest of its key", () => {
  const value = fc.float({ noNaN: true, min: -LARGE, max: LARGE });
  const keys = fc.integer({ min: 1, max: 9 }).chain((dimension) =>
    fc.record({
      dimension: fc.constant(dimension),
      rows: fc.array(fc.array(value, { minLength: dimension, maxLength: dimension })),
    }),
  );
  fc.assert(
    fc.property(keys, ({ dimension, rows }) => {
      const bytes = encodeInt8Keys(Float32Array.from(rows.flat()), dimension);
      assert.is(bytes.length, rows.length * int8KeyBytes(dimension));
      const decoded = int8Decoder(dimension).decode(bytes);
      for (const [r, row] of rows.entries()) {
        if (row.some((one) => one !== 0 && Math.abs(one) < 1e-30)) continue; // no float32 scale
        assert.ok(isNear(row, decoded.subarray(r * dimension, (r + 1) * dimension)));
      }
    }),
  );
});

test("keys of zeros stay, and a part of more bytes is decoded alone", () => {
  const keys = Float32Array.from([0, 0, 0, 1, -2, 0.5]);
  const bytes = encodeInt8Keys(keys, 3);
  const { decode } = int8Decoder(3);
  assert.equal(decode(bytes.subarray(0, 7)), new Float32Array(3));
  const second = decode(bytes.subarray(7));
  assert.ok(isNear([1, -2, 0.5], second), String(second));
  assert.ok(Math.abs(second[1]! + 2) < 1e-6);
});

test.run();
