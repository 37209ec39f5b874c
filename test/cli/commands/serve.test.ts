/** `reatt serve` and `reatt ask` as processes of their own. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../src/reatt.ts";
import { PASSAGES, send } from "../../server/support.ts";
import { moduleArguments } from "../../support/node-program.ts";
import { runCaptured } from "../support.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-serve-"));
const directory = join(folder, "index");
const QUESTION = "Who patented a steam engine in 1781?";

test.before(async () => {
  await using model = await ReAtt.load("models/reatt-mini");
  await using _index = await model.index(PASSAGES, { directory });
});
test.after(() => rmSync(folder, { recursive: true }));

function start(command: string, ...args: string[]) {
  const common = ["--model", "models/reatt-mini", "--index", directory];
  const line = [...moduleArguments("src/cli/main.ts"), command, ...common, ...args];
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, line);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (data) => {
      output[name] += data;
    });
  const ended = new Promise<number | null>((done) => child.on("close", (code) => done(code)));
  return { child, output, ended };
}

test("serve says where it listens, and SIGTERM completes the requests that run", async () => {
  const { child, output, ended } = start("serve", "--port", "0");
  let url: string | undefined;
  while (!url) {
    url = /^Listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(output.stderr)?.[1];
    assert.is(child.exitCode, null, output.stderr);
    await setTimeout(20);
  }
  const answer = send(`${url}/v1/answer`, { question: QUESTION, readTopK: 4 });
  const isRunning = async () =>
    /^reatt_requests_running 2$/m.test(await (await fetch(`${url}/metrics`)).text());
  while (!(await isRunning())) await setTimeout(5);
  child.kill("SIGTERM");
  const response = await answer;
  assert.is(response.status, 200);
  assert.match(await response.text(), "James Watt");
  assert.is(await ended, 0);
  assert.is(output.stdout, "");
  for (const line of output.stderr.split("\n").filter((line) => line.startsWith("{"))) {
    const { time, level } = JSON.parse(line);
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 600_000);
    assert.is(level, "info");
  }
});

test("serve goes on when its log has no reader", async () => {
  const { child, output, ended } = start("serve", "--port", "0");
  let url: string | undefined;
  while (!url) {
    url = /^Listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(output.stderr)?.[1];
    assert.is(child.exitCode, null, output.stderr);
    await setTimeout(20);
  }
  child.stderr.destroy();
  for (let i = 0; i < 3; i++) {
    assert.is((await fetch(`${url}/healthz`)).status, 200);
    await setTimeout(50); // the line is written when the reply has ended
  }
  child.kill("SIGTERM");
  assert.is(await ended, 0);
});

test("ask answers line by line, and a bad question does not end it", async () => {
  const { child, output, ended } = start("ask", "--top-k", "2");
  child.stdin.end(`${QUESTION}\n\n${"word ".repeat(1_500)}\nWhere does the Rhine flow?\n`);
  assert.is(await ended, 0);
  assert.match(output.stdout, /\[James Watt\].*\n {3}1\. Steam engine \(watt\/1\)/);
  assert.match(output.stdout, "Where does the Rhine flow?");
  assert.match(output.stderr, /^question "word .*at most 512 tokens.*\n$/);
});

test("ask reads one by one with --reader marginal", async () => {
  const { child, output, ended } = start("ask", "--top-k", "2", "--reader", "marginal");
  child.stdin.end(`${QUESTION}\n`);
  assert.is(await ended, 0);
  assert.match(output.stdout, /\n {3}1\. Steam engine \(watt\/1\): \d+ %\n/);
});

test("files and addresses that cannot be used", async () => {
  const keys = join(folder, "keys");
  const serve = (...args: string[]) =>
    runCaptured([
      ...["serve", "--model", "models/reatt-mini", "--index", directory, "--port", "0"],
      ...args,
    ]);
  for (const [contents, got] of [
    ["", "none"],
    ["# only a comment\n", "none"],
    ["short\n", "one of 5 characters"],
  ] as const) {
    writeFileSync(keys, contents);
    const { code, stderr } = await serve("--api-key-file", keys);
    assert.is(code, 1);
    assert.match(stderr, `got ${got}; write one key a line`);
  }
  const missing = await serve("--api-key-file", join(folder, "none"));
  assert.match(missing.stderr, "ENOENT (no such file)");
  const address = await serve("--host", "192.0.2.1");
  assert.is(address.code, 1);
  assert.match(address.stderr, /192\.0\.2\.1:0: expected a free address, got EADDRNOTAVAIL/);
});

test.run();
