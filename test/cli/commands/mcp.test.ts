/** `reatt mcp` as a process of its own: long messages, and clients that leave. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../src/reatt.ts";
import { PASSAGES } from "../../server/support.ts";
import { moduleArguments } from "../../support/node-program.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-mcp-"));
const directory = join(folder, "index");

test.before(async () => {
  await using model = await ReAtt.load("models/reatt-mini");
  await using _index = await model.index(PASSAGES, { directory });
});
test.after(() => rmSync(folder, { recursive: true }));

/** Starts the program, with a client that is ready to call tools. */
async function start() {
  const line = [...moduleArguments("src/cli/main.ts"), "mcp", "--model", "models/reatt-mini"];
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [
    ...line,
    ...["--index", directory],
  ]);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (data) => {
      output[name] += data;
    });
  child.stdin.on("error", () => {}); // the program has ended
  const ended = new Promise<number | null>((done) => child.on("close", (code) => done(code)));
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const answerTo = async (id: number) => {
    for (;;) {
      const lines = output.stdout.split("\n").slice(0, -1);
      const found = lines.map((text) => JSON.parse(text)).find((answer) => answer.id === id);
      if (found) return found;
      assert.is(child.exitCode, null, output.stderr);
      await setTimeout(20);
    }
  };
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  send({ id: 1, method: "initialize", params });
  await answerTo(1);
  send({ method: "notifications/initialized" });
  return { child, output, ended, send, answerTo };
}

const search = (id: number, question: string) => ({
  id,
  method: "tools/call",
  params: { name: "search", arguments: { question } },
});

test("a message that is too long is answered with an error, and the next one as always", async () => {
  const { child, output, ended, send, answerTo } = await start();
  for (const [id, megabytes] of [
    [2, 11],
    [3, 20],
  ] as const) {
    send(search(id, "x".repeat(megabytes * 1_000_000)));
    assert.match((await answerTo(id)).error.message, "a message has at most 10,000,000 bytes");
  }
  send(search(4, "Who patented a steam engine in 1781?"));
  const { result } = await answerTo(4);
  assert.is(result.structuredContent.results[0].id, "watt/1");
  child.stdin.end();
  assert.is(await ended, 0);
  assert.is(output.stderr, "");
});

for (const [name, leave] of [
  ["SIGTERM", (child) => child.kill("SIGTERM")],
  ["a client that leaves", (child) => child.stdin.end()],
  ["a client that reads nothing more", (child) => child.stdout.destroy()],
] as readonly [string, (child: ChildProcessWithoutNullStreams) => void][])
  test(`${name} is no defect, in the middle of a call`, async () => {
    const { child, output, ended, send } = await start();
    for (let id = 2; id < 12; id++)
      send({
        id,
        method: "tools/call",
        params: { name: "answer", arguments: { question: `Who patented engine ${id}?` } },
      });
    await setTimeout(100);
    leave(child);
    assert.is(await ended, 0);
    assert.is(output.stderr, "");
  });

test.run();
