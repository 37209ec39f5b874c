/**
 * Adapts the shipped model to five collections, documents alone, with several seeds, and measures
 * it on their test queries before and after.
 *
 *     node --import tsx benchmarks/adaptation.ts [--results FILE] [--data DIR] [--work DIR]
 *         [--collections NAME,...] [--seeds 0,1,2] [--steps N] [--report]
 *
 * Each run is a line of `--results`. A pair of collection and seed that is there is not run again,
 * so a benchmark that is stopped goes on with the same command. `--report` prints tables of what is
 * there and runs nothing. All collections come first with the first seed, then with the next. A run
 * uses all cores: `taskset -c 0` gives it one.
 */

import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { COLLECTIONS } from "./adaptation/collections.ts";
import { reportOf } from "./adaptation/report.ts";
import type { AdaptationFigures, AdaptationTask } from "./adaptation/run.ts";
import { runApart } from "./bench-index/subprocess.ts";

const { values } = parseArgs({
  options: {
    results: { type: "string", default: "benchmarks/adaptation/results.jsonl" },
    data: { type: "string", default: "../shared/data" },
    work: { type: "string", default: "runs/adaptation" },
    model: { type: "string", default: "models/reatt-mini" },
    collections: { type: "string", default: Object.keys(COLLECTIONS).join(",") },
    seeds: { type: "string", default: "0,1,2" },
    steps: { type: "string", default: "120" },
    report: { type: "boolean", default: false },
  },
});
const { results, data, work, model } = values;

if (!values.report) {
  await mkdir(dirname(results), { recursive: true });
  const collections = values.collections.split(",");
  for (const seed of values.seeds.split(",").map(Number))
    for (const collection of collections) {
      const task = { collection, data, model, steps: Number(values.steps), work };
      await runOnce(task);
      await runOnce({ ...task, seed });
    }
}
console.log(reportOf(await readResults()));

async function runOnce(task: AdaptationTask): Promise<void> {
  const done = await readResults();
  if (done.some(({ collection, seed }) => collection === task.collection && seed === task.seed))
    return;
  const place = { ...task, work: join(work, `${task.collection}-${task.seed ?? "before"}`) };
  await rm(place.work, { recursive: true, force: true });
  await mkdir(place.work, { recursive: true });
  const module = new URL("adaptation/run.ts", import.meta.url);
  console.error(new Date().toISOString(), place.work);
  const figures = await runApart<AdaptationFigures>(module.href, place);
  await appendFile(results, `${JSON.stringify(figures)}\n`);
  await rm(place.work, { recursive: true, force: true });
  console.error(new Date().toISOString(), figures.run?.verdict ?? "measured");
}

async function readResults(): Promise<AdaptationFigures[]> {
  if (!existsSync(results)) return [];
  const lines = (await readFile(results, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}
