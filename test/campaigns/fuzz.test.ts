/** The fuzz campaign at a small size. `fuzz.ts` describes it. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { LOADER, programBeside } from "../support/node-program.ts";

test("fuzzed files are read or end in an InputError of one line", async () => {
  const command = [...LOADER, programBeside("fuzz", import.meta.url), "--count", "1500"];
  const { stdout } = await promisify(execFile)(process.execPath, command).catch((error) => error);
  assert.match(stdout, /^seed 1, inputs 1500, most memory \d+ MB, failures 0$/m, stdout);
  const counts = [...stdout.matchAll(/^(.+): inputs (\d+), read \d+, rejected \d+, failures 0,/gm)];
  const names = counts.map(([, name]) => name);
  const documents = ["notes.txt", "guide.md", "page.html", "table.csv", "table.tsv"];
  for (const name of [...documents, "list.json", "lines.jsonl", "letter.docx", "paper.pdf"])
    assert.ok(names.includes(name), `no counts of ${name}: ${names}`);
  for (const [, name, inputs] of counts) assert.ok(Number(inputs) > 0, `no input of ${name}`);
});

test.run();
