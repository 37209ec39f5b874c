import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  BLOCK_BYTES,
  checkedFile,
  runningChecksum,
} from "../../../src/retrieval/index/format/blocks.ts";
import { findOrdinals, IdTable } from "../../../src/retrieval/index/format/ids.ts";
import { avgMax } from "../../../src/retrieval/scoring/score.ts";
import { TopK } from "../../../src/retrieval/scoring/top-k.ts";
import { naiveSearch, temporary } from "../support.ts";

test("avg-max of a case worked by hand", () => {
  const question = Float32Array.of(1, 0, 0, 2);
  const passage = Float32Array.of(3, 1, -1, 4, 0, 0);
  assert.is(avgMax(question, passage, 2), (3 + 8) / 2);
});

test("avg-max equals loops for any number of question tokens", () => {
  for (let tokens = 1; tokens <= 9; tokens++) {
    const question = Float32Array.from({ length: tokens * 5 }, (_, i) => Math.sin(i + tokens));
    const passage = Float32Array.from({ length: 7 * 5 }, (_, i) => Math.cos(3 * i));
    const expected = naiveSearch(question, [passage], 1, 5)[0]!.score;
    assert.ok(Math.abs(avgMax(question, passage, 5) - expected) < 1e-14);
  }
});

test("the best of a stream are those of a sorted list, with all within the margin", () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -20, max: 20 }), { maxLength: 400 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 3 }),
      (scores, count, margin) => {
        const best = new TopK(count, margin);
        for (const [ordinal, score] of scores.entries()) best.push(ordinal, score);
        const sorted = scores
          .map((score, ordinal) => ({ ordinal, score }))
          .sort((a, b) => b.score - a.score || a.ordinal - b.ordinal);
        const floor = (sorted[count - 1]?.score ?? -Infinity) - margin;
        assert.equal(
          best.take(),
          sorted.filter(({ score }) => score >= floor),
        );
      },
    ),
  ));

test("a table of ids finds every id, however many share a hash", async () => {
  const table = new IdTable();
  const ids = Array.from({ length: 3000 }, (_, i) => `id ${i}`);
  for (const id of ids) assert.equal(table.add(id), []);
  assert.equal(table.add("id 17"), [17]);
  const sorted = table.sorted();
  const rows = async (first: number, count: number) =>
    sorted.subarray(2 * first, 2 * (first + count));
  for (const ordinal of [0, 1, 1500, 2999])
    assert.equal(await findOrdinals(ids[ordinal]!, 3001, rows), [ordinal]);
  assert.equal(await findOrdinals("id 17", 3001, rows), [17, 3000]);
  assert.equal(await findOrdinals("unknown", 3001, rows), []);
});

test("checksums do not depend on how a file was written, and reads by position give its bytes", async () => {
  const bytes = Uint8Array.from({ length: 3 * BLOCK_BYTES + 100 }, (_, i) => (i * 31) >> 3);
  const checksum = runningChecksum();
  for (let start = 0; start < bytes.length; start += 1000)
    checksum.add(bytes.subarray(start, start + 1000));
  checksum.add(new Uint8Array());
  assert.is(checksum.crc32, crc32(bytes));
  assert.equal(
    checksum.blocks(),
    [0, 1, 2, 3].map((block) =>
      crc32(bytes.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)),
    ),
  );
  await using directory = await temporary();
  const path = join(directory.path, "file");
  await writeFile(path, bytes);
  const handle = await open(path);
  const file = checkedFile(path, handle, bytes.length, Uint32Array.from(checksum.blocks()));
  for (const [position, length] of [
    [0, 10],
    [BLOCK_BYTES - 4, 8],
    [5, 2 * BLOCK_BYTES],
    [bytes.length - 3, 3],
    [7, 0],
  ] as const)
    assert.equal(
      new Uint8Array(await file.read(position, length)),
      bytes.slice(position, position + length),
    );
  await handle.close();
});

test.run();
