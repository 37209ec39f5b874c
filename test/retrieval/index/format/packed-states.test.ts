/** Packed states differ from the states by at most half a step. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  packedTokens,
  packStates,
  stateBytes,
  unpackStates,
} from "../../../../src/retrieval/index/format/packed-states.ts";

const pack = (rows: readonly (readonly number[])[], size: number) =>
  packStates(Float32Array.from(rows.flat()), size);

test("a row by hand: the largest value is 127 steps", () => {
  const packed = pack([[1.27, -0.5, 0.004, 0]], 4);
  assert.is(packed.length, stateBytes(4));
  assert.is(new DataView(packed.buffer).getFloat32(0, true), Math.fround(Math.fround(1.27) / 127));
  assert.equal([...new Int8Array(packed.buffer, 4)], [127, -50, 0, 0]);
  assert.equal(
    [...unpackStates(packed, 4, "file")].map((value) => Number(value.toFixed(6))),
    [1.27, -0.5, 0, 0],
  );
});

test("each value is at most half a step of its own row away, at any place in memory", () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), {
        maxLength: 60,
      }),
      fc.nat(3),
      (size, values, offset) => {
        const tokens = Math.floor(values.length / size);
        const states = Float32Array.from(values.slice(0, tokens * size));
        const packed = packStates(states, size);
        assert.is(packedTokens(packed, size), tokens);
        const moved = Buffer.concat([Buffer.alloc(offset), packed]).subarray(offset);
        const unpacked = unpackStates(moved, size, "file");
        assert.is(unpacked.length, states.length);
        for (const [i, value] of states.entries()) {
          const row = states.subarray(i - (i % size), i - (i % size) + size);
          const largest = row.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
          // two roundings to float32: of the scale and of the product
          const allowed = largest / 254 + largest * 2 ** -22 + 2 ** -118;
          assert.ok(Math.abs(unpacked[i]! - value) <= allowed, `${value} became ${unpacked[i]}`);
        }
      },
    ),
  ));

test("bytes that are no rows are an error of one line", () => {
  assert.throws(
    () => unpackStates(new Uint8Array(9), 4, "segments/000001/states.bin"),
    /^segments\/000001\/states.bin: expected states of 4 values, got another; restore the file/,
  );
});

test.run();
