import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { BLOCK_BYTES, runningChecksum } from "../../../../src/retrieval/index/blocks/blocks.ts";
import {
  SharedReader,
  shareFile,
  shareMemory,
} from "../../../../src/retrieval/index/blocks/shared-blocks.ts";
import { damage, rejects, temporary } from "../../support.ts";

const BLOCKS = 90; // more than a run
const BYTES = Uint8Array.from(
  { length: BLOCKS * BLOCK_BYTES - 100 },
  (_, i) => (i * 31) ^ (i >> 9),
);

async function openBytes() {
  const directory = await temporary();
  const path = join(directory.path, "file");
  await writeFile(path, BYTES);
  const checksum = runningChecksum();
  checksum.add(BYTES);
  const handle = await open(path);
  const checksums = Uint32Array.from(checksum.blocks());
  return {
    path,
    share: () => shareFile(path, handle.fd, BYTES.length, checksums),
    async [Symbol.asyncDispose]() {
      await handle.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

const RANGES = fc
  .array(fc.tuple(fc.integer({ min: 0, max: BYTES.length }), fc.nat(3 * BLOCK_BYTES)), {
    maxLength: 12,
  })
  .map((ranges) =>
    ranges.map(([start, length]) => [start, Math.min(BYTES.length, start + length)]),
  );

test("copies ranges, whatever fits in the memory, in one thread or another", async () => {
  await using file = await openBytes();
  for (const slots of [0, 1, 20, BLOCKS]) {
    const memory = shareMemory([BYTES.length], slots * BLOCK_BYTES);
    const shared = file.share();
    const readers = [new SharedReader(memory, shared), new SharedReader(memory, shared)];
    await fc.assert(
      fc.asyncProperty(RANGES, async (ranges) => {
        const places: number[] = []; // with 5 bytes between
        for (const [start, end] of ranges) {
          const place = (places.at(-1) ?? 0) + 5;
          places.push(place, place + end! - start!);
        }
        const expected = new Uint8Array((places.at(-1) ?? 0) + 5);
        for (const [i, [start, end]] of ranges.entries())
          expected.set(BYTES.subarray(start, end), places[2 * i]);
        const copies = await Promise.all(
          readers.map(async (reader) => {
            const target = new Uint8Array(expected.length);
            await reader.copy(Float64Array.from(ranges.flat()), target, Uint32Array.from(places));
            return target;
          }),
        );
        for (const copy of copies) assert.equal(copy, expected);
      }),
      { numRuns: 20 },
    );
    assert.is(memory.blocks.byteLength, slots * BLOCK_BYTES);
  }
});

test("keeps a block that was read several times", async () => {
  await using file = await openBytes();
  const reader = new SharedReader(shareMemory([BYTES.length], BYTES.length * 2), file.share());
  for (let i = 0; i < 4; i++)
    assert.equal(await reader.read(5, BLOCK_BYTES), BYTES.slice(5, BLOCK_BYTES + 5));
  await damage(file.path, 0, false);
  assert.equal(reader.read(5, 10), BYTES.slice(5, 15)); // at once
  const view = await reader.view(5, 10);
  assert.equal(view, BYTES.slice(5, 15));
  assert.ok(view.buffer instanceof SharedArrayBuffer); // in place
  assert.equal(await reader.view(BYTES.length - 10, 10), BYTES.slice(-10)); // not kept
});

test("names the file for a damaged block and for a range outside of it", async () => {
  await using file = await openBytes();
  const reader = new SharedReader(shareMemory([BYTES.length], BYTES.length), file.share());
  await damage(file.path, 0.5, false);
  await rejects(
    Promise.resolve(reader.read(BYTES.length / 2 - 5, 10)),
    /file: expected the checksum of the block at \d+/,
  );
  assert.throws(
    () =>
      reader.copy(
        Float64Array.of(0, BYTES.length + 1),
        new Uint8Array(BYTES.length + 1),
        Uint32Array.of(0, BYTES.length + 1),
      ),
    /file: expected a position up to/,
  );
});

test.run();
