/** Packed states differ from the states by the rounding of fp16. */

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

test("rows by hand: scales are powers of 2, and values beyond fp16 are no problem", () => {
  const rows = [
    [5, -0.5, 0],
    [0, 0, 0],
    [-131_072, 3 * 2 ** 15, 64],
  ];
  const packed = pack(rows, 3);
  assert.is(packed.length, 3 * stateBytes(3));
  const view = new DataView(packed.buffer, packed.byteOffset);
  assert.equal(
    [0, 4, 8].map((at) => view.getFloat32(at, true)),
    [8, 1, 131_072],
  );
  assert.is(view.getUint16(12, true), 0x3900); // 5 / 8 = 1.25 * 2^-1
  assert.equal([...unpackStates(packed, 3, "file")], rows.flat());
});

test("each value is at most half a step of fp16 away, at any place in memory", () =>
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
          const allowed = Math.max(Math.abs(value) / 2048, (2 * largest) / 2 ** 25, 2 ** -149);
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
