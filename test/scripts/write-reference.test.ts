/** scripts/write-reference.ts on small guides. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { LOADER, programFile } from "../support/node-program.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-reference-"));
const guide = join(folder, "docs", "A.md");
mkdirSync(join(folder, "docs"));
test.after(() => rmSync(folder, { recursive: true }));

function run(...args: string[]): { status: number | null; lines: string[] } {
  const argv = [...LOADER, programFile("scripts/write-reference.ts"), ...args];
  const { status, stdout } = spawnSync(process.execPath, argv, { cwd: folder, encoding: "utf8" });
  return { status, lines: stdout.trimEnd().split("\n") };
}

const marked = (name: string): string =>
  `text before\n\n<!-- generated: ${name} -->\n<!-- /generated -->\n\ntext after\n`;

/** The names of all tables, from the guides of the repository. */
const names = readdirSync("docs")
  .filter((file) => file.endsWith(".md"))
  .flatMap((file) => [
    ...readFileSync(`docs/${file}`, "utf8").matchAll(/<!-- generated: (.*) -->/g),
  ])
  .map(([, name]) => name!);

test("writes the tables of the guides, and finds one that differs", () => {
  writeFileSync(guide, names.map(marked).join(""));
  assert.equal(run(), { status: 0, lines: [`${names.length} passed, 0 failed`] });
  const written = readFileSync(guide, "utf8");
  assert.match(written, /^text before\n\n<!-- generated/);
  assert.ok(written.includes("| `ERR_REATT_BUSY` | 409 | Another process writes there | "));
  assert.match(written, /^\| `pooling` \| .*: eos, cls, mean \|/m);
  assert.match(written, /^\| `POST \/v1\/read` \| .* \| `question`, .*`passages`/m);
  writeFileSync(guide, written.replace("| 409 | Another process", "| 408 | Another process"));
  const { status, lines } = run("--check");
  assert.is(status, 1);
  assert.match(lines[0]!, /^FAIL {2}docs.A\.md: the table "error codes" differs from the code; /);
  assert.is(lines.at(-1), `${names.length - 1} passed, 1 failed`); // the others are as written
});

test("refuses a name that no table has, and a table that no guide shows", () => {
  writeFileSync(guide, marked("verbs"));
  const { status, lines } = run();
  assert.is(status, 1);
  assert.match(lines[0]!, /^FAIL {2}docs.A\.md: expected a table of the code, got "verbs"$/);
  assert.ok(lines.includes('FAIL  expected the table "routes" in a guide'));
  assert.is(readFileSync(guide, "utf8"), marked("verbs"));
});

test.run();
