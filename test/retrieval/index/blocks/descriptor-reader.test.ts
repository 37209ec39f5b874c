import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readerOf } from "../../../../src/retrieval/index/blocks/descriptor-reader.ts";
import { fillFrom } from "../../../../src/retrieval/index/blocks/storage.ts";
import { temporary } from "../../support.ts";

const BYTES = Uint8Array.from({ length: 1000 }, (_, i) => i);

/** Runs `work` while every look at the clock takes `milliseconds`. */
async function withClock(milliseconds: number, work: () => Promise<void>): Promise<void> {
  const { now } = performance;
  let time = 0;
  performance.now = () => (time += milliseconds);
  try {
    await work();
  } finally {
    performance.now = now;
  }
}

test("reads at once, and in the background after a slow read", async () => {
  await using directory = await temporary();
  const path = join(directory.path, "file");
  await writeFile(path, BYTES);
  await using handle = await open(path);
  const target = new Uint8Array(10);
  const inBackground: boolean[] = [];
  const reader = readerOf(handle.fd);
  const read = async (position: number): Promise<void> => {
    const result = reader.read(target, 2, 8, position);
    inBackground.push(result instanceof Promise);
    assert.is((await result).bytesRead, 8);
    assert.equal(target.slice(2), BYTES.slice(position, position + 8));
  };
  await withClock(0, () => read(3));
  await withClock(10, () => read(100));
  for (let i = 0; i < 100; i++) await read(i);
  await withClock(0, () => read(7));
  assert.equal(inBackground, [false, false, ...Array<boolean>(100).fill(true), false]);
});

test("stops at the end of the file, and fails as a promise when the file is closed", async () => {
  await using directory = await temporary();
  const path = join(directory.path, "file");
  await writeFile(path, BYTES);
  const handle = await open(path);
  const reader = readerOf(handle.fd);
  assert.is(await fillFrom(reader, 990, new Uint8Array(20)), 10);
  await handle.close();
  let error: unknown;
  await fillFrom(reader, 0, new Uint8Array(20)).catch((caught: unknown) => {
    error = caught;
  });
  assert.match(String(error), /EBADF/);
});

test.run();
