/** reatt under the task of its peers, which `bench/peers.ts` describes: one thread, `balanced`. */

import { readFileSync } from "node:fs";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { PeerReport, SearchTask } from "../bench/peers.ts";
import { compress } from "../bench/searches.ts";
import { secondsSince } from "../bench/timing.ts";
import { peakMegabytes } from "../bench-index/subprocess.ts";

const [work, path] = process.argv.slice(2);
const task: SearchTask = JSON.parse(readFileSync(path!, "utf8"));
const { seconds, found } =
  work === "build"
    ? { seconds: await compress(task.exact, task.index, task.bits), found: [] }
    : await search();
const report: PeerReport = { seconds, megabytes: peakMegabytes(), found, version: "" };
process.stdout.write(JSON.stringify(report));

/** The first ten questions before all, so that files are read and memory is taken. */
async function search(): Promise<Pick<PeerReport, "seconds" | "found">> {
  const values = readFileSync(task.questions);
  const all = new Float32Array(values.buffer, values.byteOffset, values.byteLength / 4);
  let start = 0;
  const questions = task.questionCounts.map((count) => {
    start += count * task.dimension;
    return all.subarray(start - count * task.dimension, start);
  });
  await using index = await openIndex(task.index, { threads: 1, memoryLimit: 2 ** 31 });
  const rank = async (question: Float32Array): Promise<number[]> => {
    const [ranking] = await index.rankings([question], { topK: task.topK });
    return [...ranking!.ordinals];
  };
  for (const question of questions.slice(0, 10)) await rank(question);
  const before = process.cpuUsage();
  const found: number[][] = [];
  for (const question of questions) found.push(await rank(question));
  return { seconds: secondsSince(before), found };
}
