/**
 * Uses the built package and closes nothing: `node --expose-gc drop-everything.js FOLDER`.
 *
 * FOLDER has `run.json`, the options of a small training run. What is dropped is collected as
 * garbage, which must neither end the process nor print a warning.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ReAtt, readPassages } from "../../dist/index.js";
import { train } from "../../dist/training/index.js";

const folder = process.argv[2];
const directory = join(folder, "index");
const QUESTION = "Who patented a steam engine in 1781?";
const passages = ["James Watt patented a steam engine in 1781.", "The Rhine is a river."].map(
  (text, i) => ({ id: `${i}`, title: "", text }),
);

process.on("warning", (warning) => {
  console.error(warning);
  process.exitCode = 1;
});
const before = openFiles();
await useModel();
await collect();
await readAndTrain();
await collect();
await serve();
const left = openFiles() - before;
if (left > 20) throw new Error(`${left} files are still open`);

async function useModel() {
  const model = await ReAtt.load();
  for (const bits of [undefined, 2]) {
    const place = bits ? `${directory}-${bits}` : directory;
    const index = await model.index(passages, { directory: place, ...(bits && { bits }) });
    for (let i = 0; i < 5; i++)
      await model.add([{ id: `more ${i}`, title: "", text: "Oxygen is an element." }], {
        directory: place,
      });
    const questions = Array.from({ length: 10 }, (_, i) => `${QUESTION} ${i}`);
    for await (const _ of model.retrieve(questions, index, { topK: 2 })); // starts threads
    for await (const _ of index.entries()) break;
    index.entries().next(); // dropped while it reads
    await collect();
  }
  const { answer } = await model.answer(QUESTION, await model.openIndex(directory));
  if (answer.trim() !== "James Watt") throw new Error(`the answer is ${answer}`);
}

/** Drops generators in the middle of their files. */
async function readAndTrain() {
  const options = JSON.parse(readFileSync(join(folder, "run.json"), "utf8"));
  for (let i = 0; i < 10; i++) await readPassages(options.corpus).next();
  for await (const event of train(options)) if (event.type === "step") break;
  const dropped = train({ ...options, out: `${options.out}-dropped` });
  while ((await dropped.next()).value?.type !== "step");
}

async function serve() {
  const command = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
  const server = spawn(process.execPath, [command, "serve", "--index", directory, "--port", "0"], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  let printed = "";
  server.stderr.setEncoding("utf8").on("data", (text) => {
    printed += text;
  });
  const ended = once(server, "exit");
  for (let i = 0; !/Listening on/.test(printed); i++) {
    if (server.exitCode !== null || i > 600) throw new Error(printed);
    await sleep(100);
  }
  const [, url] = /Listening on (\S+)/.exec(printed);
  const response = await fetch(`${url}/v1/answer`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ question: QUESTION }),
  });
  const { answer } = await response.json();
  if (answer.trim() !== "James Watt") throw new Error(`the server answers ${answer}`);
  server.kill("SIGTERM");
  const [code] = await ended;
  if (code !== 0 || /warning/i.test(printed)) throw new Error(printed);
}

/** Finalizers run after the collection, and close files in the background. */
async function collect() {
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    await sleep(20);
  }
}

/** The open files of this process. */
function openFiles() {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
}
