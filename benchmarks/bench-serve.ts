/**
 * The load test of `reatt serve`: questions/s, latency and memory with 1, 8 and 32 clients. Each
 * client asks its own questions, one after the other.
 *
 *     npm run bench:serve -- [--seconds 60] [--read-top-k 10]
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import autocannon from "autocannon";

const QUESTIONS = "test/fixtures/squad-questions/questions.jsonl";
const CLIENTS = [1, 8, 32];

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    index: { type: "string", default: ".index/squad" },
    seconds: { type: "string", default: "60" },
    "read-top-k": { type: "string", default: "10" },
  },
});
if (!existsSync(values.index))
  throw new Error(`${values.index} is missing: run scripts/quickstart`);

const questions = readFileSync(QUESTIONS, "utf8")
  .trimEnd()
  .split("\n")
  .map((line): string => JSON.parse(line).question);

const { model, index } = values;
const server = spawn(process.execPath, [
  ...["--import", "tsx", "src/cli/main.ts", "serve"],
  ...["--model", model, "--index", index, "--port", "0"],
]);
const url = await listening();

console.log("clients  questions/s  p50 ms  p95 ms  errors  memory MB  mean batch");
for (const clients of CLIENTS) {
  const before = await figures();
  const result = await load(clients);
  const after = await figures();
  const batch = (after.requests - before.requests) / (after.batches - before.batches);
  const row = [
    ...[clients, result.rate.toFixed(2), result.p50.toFixed(0), result.p95.toFixed(0)],
    ...[result.errors, (after.memory / 1e6).toFixed(0), batch.toFixed(1)],
  ];
  console.log(row.join("\t"));
}
server.kill("SIGTERM");
await once(server, "exit");

/** Waits for the line with the address, and then reads on, so that the pipe does not fill. */
async function listening(): Promise<string> {
  const lines = createInterface({ input: server.stderr });
  return new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const [, found] = /^Listening on (\S+)/.exec(line) ?? [];
      if (found) resolve(found);
    });
    server.once("exit", () => reject(new Error("the server has ended")));
  });
}

/** Client number n begins with question 7 n: no two ask the same at the same time. */
async function load(clients: number) {
  let client = 0;
  const times: number[] = [];
  const { errors, non2xx, duration } = await autocannon({
    url: `${url}/v1/answer`,
    connections: clients,
    duration: Number(values.seconds),
    timeout: 120,
    method: "POST",
    headers: { "content-type": "application/json" },
    setupClient(connection) {
      let next = 7 * client++;
      const ask = (): void => {
        const question = questions[next++ % questions.length];
        connection.setBody(JSON.stringify({ question, readTopK: Number(values["read-top-k"]) }));
      };
      ask();
      connection.on("response", (_status, _bytes, milliseconds) => {
        times.push(milliseconds);
        ask();
      });
    },
  });
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * times.length)] ?? Number.NaN;
  return { rate: times.length / duration, p50: at(0.5), p95: at(0.95), errors: errors + non2xx };
}

/** Figures of the server from its metrics. */
async function figures() {
  const text = await (await fetch(`${url}/metrics`)).text();
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)![1]);
  return {
    memory: read("process_resident_memory_bytes"),
    requests: read("reatt_batch_size_sum"),
    batches: read("reatt_batch_size_count"),
  };
}
