/** JSON arrays as record files. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { readJsonRecords } from "../../../src/io/json/json-records.ts";
import { assertLinear } from "../../support/linear-time.ts";

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

const BRACKETS: readonly (readonly [make: (count: number) => string, message: RegExp])[] = [
  [
    (count) => `[${"[".repeat(count)}`,
    /records\.json: expected JSON with at most 100 levels of nesting, got more/,
  ],
  [(count) => `[${"{},".repeat(count)}{}]`, /expected JSON with at most \d+ values, got more/],
];

test("an array of brackets is rejected in a time that grows with its length", async () => {
  for (const [make, message] of BRACKETS)
    await assertLinear(async (count) => {
      const error = await read(make(count)).catch((caught: unknown) => caught);
      assert.instance(error, InputError);
      assert.match((error as Error).message, message);
    }, 5_000_000);
});

test.run();
