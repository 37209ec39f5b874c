/**
 * Encodes the texts of `benchmarks/bench/peer-encoders.ts` with transformers.js, whose folder of
 * packages is the working folder.
 *
 *     node encode.mjs TASK.json
 *
 * Prints `{"seconds", "megabytes", "version"}`: processor time with the tokenizer, peak memory.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(join(process.cwd(), "package.json"));
const { env, pipeline } = await import(
  pathToFileURL(packages.resolve("@huggingface/transformers")).href
);
const task = JSON.parse(readFileSync(process.argv[2], "utf8"));

env.allowRemoteModels = false;
env.localModelPath = dirname(task.model);
const encode = await pipeline("feature-extraction", basename(task.model), {
  dtype: task.dtype,
  device: "cpu",
  session_options: { intraOpNumThreads: 1 },
});
/** Its tokenizer pads to the longest text of a batch, so texts of similar length go together. */
const texts = task.texts.toSorted((a, b) => b.length - a.length);
const start = process.cpuUsage();
for (let i = 0; i < texts.length; i += task.textsPerBatch)
  await encode(texts.slice(i, i + task.textsPerBatch), { pooling: "none" });
const { user, system } = process.cpuUsage(start);
const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
console.log(
  JSON.stringify({
    seconds: (user + system) / 1e6,
    megabytes: Math.round((1024 * Number(kibibytes)) / 1e6),
    version: env.version,
  }),
);
