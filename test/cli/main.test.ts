/** What only a process of its own shows: a reader that leaves, and interrupts. */

import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { LOADER, moduleArguments, programFile } from "../support/node-program.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-main-"));
test.after(() => rmSync(folder, { recursive: true }));

function start(
  env: NodeJS.ProcessEnv,
  ...args: string[]
): {
  child: ChildProcessWithoutNullStreams;
  ended: Promise<{ code: number | null; stderr: string }>;
} {
  const child = spawn(process.execPath, [...moduleArguments("src/cli/main.ts"), ...args], { env });
  let stderr = "";
  child.stderr.on("data", (data) => {
    stderr += data;
  });
  return {
    child,
    ended: new Promise((done) => child.on("close", (code) => done({ code, stderr }))),
  };
}

test("a reader that has enough ends the command quietly", async () => {
  const { child, ended } = start(process.env, "--help");
  child.stdout.destroy();
  assert.equal(await ended, { code: 0, stderr: "" });
});

test("help and version do not load onnxruntime", async () => {
  const watcher = join(folder, "watcher.mjs");
  writeFileSync(
    watcher,
    `process.on("exit", () => {
      const { sharedObjects } = process.report.getReport();
      process.stderr.write(String(sharedObjects.some((path) => path.includes("onnxruntime"))));
    });`,
  );
  const loads = async (...args: string[]) => {
    const program = [...LOADER, "--import", watcher, programFile("src/cli/main.ts"), ...args];
    return (await promisify(execFile)(process.execPath, program)).stderr;
  };
  for (const flag of ["--help", "--version"]) assert.is(await loads(flag), "false");
  assert.is(await loads("answer", "--help"), "true");
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  test(`${signal} leaves nothing in the folder for temporary files`, async () => {
    const temporary = mkdtempSync(join(folder, "temporary-"));
    const docs = mkdtempSync(join(folder, "docs-"));
    for (let i = 0; i < 300; i++) writeFileSync(join(docs, `${i}.txt`), `Number ${i} is here.`);
    const out = join(folder, signal);
    const args = ["index", "--model", "models/reatt-mini", "--corpus", docs, "--out", out];
    const { child, ended } = start({ ...process.env, TMPDIR: temporary }, ...args);
    const passages = () => readdirSync(temporary).filter((name) => name.startsWith("reatt-"));
    while (passages().length === 0) await setTimeout(5);
    child.kill(signal);
    assert.is((await ended).code, 130);
    assert.equal(passages(), []);
  });

test("an interrupted index is finished by the same command", async () => {
  const corpus = join(folder, "corpus.jsonl");
  const index = join(folder, "index");
  const passages = Array.from(
    { length: 600 },
    (_, i) => `{"id":${i},"text":"Number ${i} is here."}\n`,
  );
  writeFileSync(corpus, passages.join(""));
  const args = ["index", "--model", "models/reatt-mini", "--corpus", corpus, "--out", index];

  const { child, ended } = start(process.env, ...args);
  while (!existsSync(index)) await setTimeout(5);
  child.kill("SIGINT");
  const interrupted = await ended;
  assert.is(interrupted.code, 130);
  assert.match(interrupted.stderr, /^reatt: interrupted[^\n]*\n$/m);

  const finished = await start(process.env, ...args).ended;
  assert.is(finished.code, 0);
  assert.match(finished.stderr, /Indexed 600 passages/);
});

test.run();
