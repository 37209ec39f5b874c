/** JSON arrays as record files. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { readJsonRecords } from "../../../src/io/json/json-records.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-records-"));
const file = join(folder, "records.json");
test.after(() => rmSync(folder, { recursive: true }));

async function read(content: string): Promise<number> {
  writeFileSync(file, content);
  let count = 0;
  for await (const _ of readJsonRecords(file)) count++;
  return count;
}

test("an array of many small records is read", async () => {
  const context = { id: "1" };
  const record = { question: "?", answers: ["x"], ctxs: Array(100).fill(context) };
  assert.is(await read(JSON.stringify(Array(5_000).fill(record))), 5_000);
});

test("an array of brackets is rejected in little time", async () => {
  const start = performance.now();
  const levels = /records\.json: expected JSON with at most 100 levels of nesting, got more/;
  for (const [content, message] of [
    [`[${"[".repeat(20_000_000)}`, levels],
    [`[${"{},".repeat(7_000_000)}{}]`, /expected JSON with at most \d+ values, got more/],
  ] as const) {
    const error = await read(content).catch((caught: unknown) => caught);
    assert.instance(error, InputError);
    assert.match((error as Error).message, message);
  }
  assert.ok(performance.now() - start < 3_000);
});

test.run();
