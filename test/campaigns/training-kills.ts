/**
 * Kills of training and adaptation at random moments (SIGKILL).
 *
 *     npx tsx test/campaigns/training-kills.ts --count 200 --seed 1
 *
 * A killed run is resumed, and killed again or left to its end. It must end with the bytes of a run
 * that was not killed: model, configuration, checkpoint, candidates, log and index.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import type { AdaptOptions } from "../../src/training/options/adapt-options.ts";
import { readMetrics } from "../../src/training/report/metrics-log.ts";
import { compileScript } from "../retrieval/index/write/compile-script.ts";
import { sameBytes } from "../retrieval/support.ts";
import { writeAdaptationFiles } from "../support/adaptation.ts";
import { writeSmallRun } from "../support/training.ts";
import {
  campaignFolder,
  campaignOptions,
  collectFailures,
  finish,
  startProgress,
} from "./campaign.ts";
import { filesBelow } from "./files-below.ts";
import { runFor } from "./killed-run.ts";
import type { TrainedRun } from "./training-process.ts";

/** What a run left, and how long it took. */
interface Whole {
  /** File -> digest of its bytes, or its values without times. */
  readonly files: ReadonlyMap<string, unknown>;
  readonly milliseconds: number;
}

/** Files with times or the name of the folder; indexes, of which `sameBytes` compares the last. */
const TIMED = /(^|\/)index\/|README\.md$|report\.html$|(samples|adaptation)\.json$/;

const { count, seed } = campaignOptions(8);
const random = createRandom(seed, "training kills");
const folder = campaignFolder("training-kills");
const progress = startProgress("training kills", count);
const failures = collectFailures();
const counts = { "training kills": 0, "before the first checkpoint": 0, "runs to the end": 0 };

const script = await compileScript("test/campaigns/training-process.ts", join(folder, "compiled"));
const runs = Object.entries(await makeRuns());
const wholes = new Map<string, Whole>();
for (const [name, run] of runs) wholes.set(name, await runWhole(name, run));
for (let number = 0; counts["training kills"] < count; number++) {
  const [name, run] = runs[number % runs.length]!;
  await killRun(name, run, join(folder, `${number}`), Math.ceil(count / runs.length));
}
finish(counts, failures);

/** Runs that write checkpoints between iterations, at measurements and at the end. */
async function makeRuns(): Promise<Record<string, TrainedRun>> {
  const files = join(folder, "files");
  mkdirSync(files);
  const small = { ...(await writeSmallRun(files)), iterations: 3, steps: 3 };
  const { model } = small;
  const adaptation: AdaptOptions = {
    ...{ ...writeAdaptationFiles(folder), model, out: "", monitorSteps: 3 },
    ...{ iterations: 2, steps: 6, questions: 2, candidatesPerQuestion: 2, sources: ["spans"] },
  };
  return {
    train: { kind: "train", options: small },
    "pre-batch": { kind: "train", options: { ...small, preBatch: 2, objective: "supervised" } },
    adapt: { kind: "adapt", options: adaptation },
    "query side": { kind: "adapt", options: { ...adaptation, train: "query", layers: 1 } },
  };
}

/** Kills a run at random moments until it ends, at most `most` times, and compares its files. */
async function killRun(name: string, run: TrainedRun, out: string, most: number): Promise<void> {
  const whole = wholes.get(name)!;
  try {
    let ended = false;
    for (let lives = 0; !ended && lives < most && counts["training kills"] < count; lives++)
      ended = await liveFor(1.2 * whole.milliseconds * random.next(), run, out);
    if (!ended) await liveFor(Infinity, run, out);
    counts["runs to the end"]++;
    const files = await comparedFiles(out);
    for (const path of new Set([...files.keys(), ...whole.files.keys()]))
      if (JSON.stringify(files.get(path)) !== JSON.stringify(whole.files.get(path)))
        throw new Error(`other contents of ${path}`);
    if (existsSync(join(folder, name, "index")))
      await sameBytes(join(out, "index"), join(folder, name, "index"));
  } catch (error) {
    failures.add(`${name}, after kill ${counts["training kills"]}`, error);
  }
}

async function runWhole(name: string, run: TrainedRun): Promise<Whole> {
  const start = performance.now();
  const out = join(folder, name);
  await liveFor(Infinity, run, out);
  return { milliseconds: performance.now() - start, files: await comparedFiles(out) };
}

/** Starts or resumes a run. @returns true if it ended before it was killed */
async function liveFor(milliseconds: number, run: TrainedRun, out: string): Promise<boolean> {
  if (await runFor(milliseconds, script, run, out)) return true;
  progress(++counts["training kills"]);
  if (!existsSync(join(out, "checkpoint", "checkpoint.json")))
    counts["before the first checkpoint"]++;
  return false;
}

async function comparedFiles(out: string): Promise<Map<string, unknown>> {
  const files = new Map<string, unknown>();
  for (const path of filesBelow(out)) {
    const name = relative(out, path);
    if (TIMED.test(name)) continue;
    if (name.endsWith("checkpoint.json"))
      files.set(name, { ...JSON.parse(readFileSync(path, "utf8")), seconds: 0 });
    else if (name === "metrics.jsonl") files.set(name, (await readMetrics(path)).map(withoutTimes));
    else files.set(name, createHash("sha256").update(readFileSync(path)).digest("hex"));
  }
  return files;
}

function withoutTimes(record: object): object {
  return { ...record, seconds: 0, questionsPerSecond: 0 };
}
