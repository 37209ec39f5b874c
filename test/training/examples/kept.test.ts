import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { z } from "zod";
import { reporting } from "../../../src/io/progress.ts";
import { type KeptFile, kept } from "../../../src/training/examples/kept.ts";
import { acceptedOrRefused, refused, temporaryFolder } from "../../checkpoints/support.ts";
import { finish } from "../../support/adaptation.ts";

const file = join(temporaryFolder(), "candidates.jsonl");
const found = Array.from({ length: 2_500 }, (_, i) => [`p${i}`, `\u2028${i}\n`]);
const source: KeptFile<string[]> = {
  ...{ file, resume: true, noun: "candidates", item: z.array(z.string()).length(2) },
  identity: { corpus: "abc", "number of candidates": 2 },
};
const write = (items: readonly string[][]) =>
  finish(kept({ ...source, resume: false }, () => reporting(async () => items)));
const read = (given: KeptFile<string[]> = source) =>
  finish(
    kept(given, () =>
      reporting<never, string[][]>(() => Promise.reject(new Error("they are found again"))),
    ),
  );

test("a resumed run reads what was written", async () => {
  await write(found);
  assert.equal(await read(), found);
});

test("a file of another run is refused, and what is other is named", async () => {
  await write(found);
  await refused(
    read({ ...source, identity: { ...source.identity, corpus: "abd" } }),
    /candidates.jsonl: expected the corpus that the run began with, got another; resume with/,
  );
});

test("a damaged file is refused, never read as another", async () => {
  await write(found.slice(0, 3));
  const text = readFileSync(file, "utf8");
  const lines = text.split("\n");
  const refuse = async (content: string, message: RegExp) => {
    writeFileSync(file, content);
    await refused(read(), message);
  };
  await refuse("", /candidates.jsonl: expected candidates, one a line/);
  await refuse("null\n", /expected candidates/);
  await refuse(text.replace("reatt-candidates", "reatt-index"), /expected candidates/);
  await refuse(lines.slice(0, 3).join("\n"), /candidates.jsonl: expected candidates/);
  await refuse(`${text}${lines[3]}\n`, /candidates.jsonl: expected candidates/);
  await refuse(text.replace('"p1",', ""), /candidates.jsonl:3/);
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), fc.string({ maxLength: 2 }), async (at, put) => {
      writeFileSync(file, text.slice(0, at) + put + text.slice(at + 1));
      const items = await acceptedOrRefused(read());
      assert.ok(
        items === undefined || (items.length === 3 && items.every(({ length }) => length === 2)),
      );
    }),
    { numRuns: 300 },
  );
});

test.run();
