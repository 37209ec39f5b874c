/** reatt under the task of its peers, which `bench/peer-encoders.ts` describes: one thread. */

import { readFileSync } from "node:fs";
import { ReAtt } from "../../src/reatt.ts";
import type { EncodingReport, EncodingTask } from "../bench/peer-encoders.ts";
import { secondsSince } from "../bench/timing.ts";
import { peakMegabytes } from "../bench-index/subprocess.ts";

const task: EncodingTask = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
await using model = await ReAtt.load(task.model, { threads: 1 });
const passages = task.texts.map((text, i) => ({ id: String(i), text }));
const start = process.cpuUsage();
const options = { directory: task.index, bits: 32, maxPassageTokens: task.maxTokens } as const;
await using index = await model.index(passages, options);
const seconds = secondsSince(start);
const report: EncodingReport = {
  seconds,
  megabytes: peakMegabytes(),
  tokens: index.tokenCount,
  version: "",
};
process.stdout.write(JSON.stringify(report));
