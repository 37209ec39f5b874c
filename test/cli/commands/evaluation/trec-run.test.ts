import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { trecRunLines, writeRunFile } from "../../../../src/cli/commands/evaluation/trec-run.ts";
import { InputError } from "../../../../src/io/errors.ts";

test("six fields a line, ranks from 1", () => {
  const hits = [
    { id: "d2", score: 2.5 },
    { id: "d1", score: -0.125 },
  ];
  assert.is(trecRunLines("q1", hits), "q1 Q0 d2 1 2.5 reatt\nq1 Q0 d1 2 -0.125 reatt\n");
  assert.is(trecRunLines("q1", []), "");
});

test("an id that would be two fields is refused", () => {
  const refused = (error: unknown) => error instanceof InputError;
  assert.throws(() => trecRunLines("q 1", [{ id: "d", score: 1 }]), refused);
  assert.throws(() => trecRunLines("q", [{ id: "d\t1", score: 1 }]), refused);
});

test("a file is replaced when the new one is whole, a link is written through", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reatt-run-file-"));
  const [file, link] = [join(folder, "file"), join(folder, "link")];
  writeFileSync(file, "old");
  symlinkSync(file, link);
  const failed = await writeRunFile(file, async (handle) => {
    await handle.appendFile("half");
    throw new Error("in the middle");
  }).catch((error: unknown) => error);
  assert.instance(failed, Error);
  assert.is(readFileSync(file, "utf8"), "old");
  await writeRunFile(file, (handle) => handle.appendFile("new"));
  assert.is(readFileSync(file, "utf8"), "new");
  await writeRunFile(link, (handle) => handle.appendFile("newer"));
  assert.is(readFileSync(file, "utf8"), "newer");
  assert.ok((await lstat(link)).isSymbolicLink());
  rmSync(folder, { recursive: true });
});

test.run();
