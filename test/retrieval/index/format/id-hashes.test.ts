import { test } from "uvu";
import * as assert from "uvu/assert";
import { findOrdinals, IdHashTable } from "../../../../src/retrieval/index/format/id-hashes.ts";

test("a table of ids finds every id, however many share a hash", async () => {
  const table = new IdHashTable();
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

test.run();
