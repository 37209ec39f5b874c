import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  BLOCK_BYTES,
  checkedFile,
  runningChecksum,
} from "../../../../src/retrieval/index/blocks/blocks.ts";
import { temporary } from "../../support.ts";

test("checksums do not depend on write sizes, and reads by position return the bytes", async () => {
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
