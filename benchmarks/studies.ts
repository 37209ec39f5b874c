/**
 * Runs a study: rows that differ in one choice, each trained with three seeds.
 *
 *     node --import tsx benchmarks/studies.ts NAME [--data DIR] [--out DIR] [--seeds N]
 *         [--lane K/N]
 *
 * The table goes to stdout at the end. Figures are kept in `--out`: a study that is stopped goes on
 * with the same command. `--lane 1/2` and `--lane 2/2` divide the work between two processes; run
 * the command without `--lane` for the table of both.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { dprStudy } from "./studies/dpr.ts";
import { questionsStudy } from "./studies/questions.ts";
import { realmStudy } from "./studies/realm.ts";
import { reattStudy } from "./studies/reatt.ts";
import { runStudy, tableOf } from "./studies/study.ts";
import { targetsStudy } from "./studies/targets.ts";

const STUDIES = {
  dpr: dprStudy,
  questions: questionsStudy,
  realm: realmStudy,
  reatt: reattStudy,
  targets: targetsStudy,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: "string", default: "../shared/data" },
    out: { type: "string", default: "runs/studies" },
    seeds: { type: "string", default: "3" },
    lane: { type: "string", default: "1/1" },
  },
});
const name = positionals[0] as keyof typeof STUDIES;
if (!STUDIES[name]) throw new Error(`expected ${Object.keys(STUDIES).join(", ")}, got ${name}`);
const folder = join(values.out, name);
const study = STUDIES[name](values.data, folder);
const place = { folder, seeds: Number(values.seeds) };
const [lane, lanes] = values.lane.split("/").map(Number) as [number, number];
await runStudy(study, place, { lane: lane - 1, lanes });
console.log(await tableOf(study, place));
