/**
 * Kills of training and adaptation at random moments (SIGKILL).
 *
 *     npx tsx test/campaigns/training-kills.ts --count 200 --seed 1
 *
 * A killed run is resumed, and killed again or left to its end. It must end with the bytes of a run
 * that was not killed: model, configuration, checkpoint, candidates, log and index. The first
 * campaign had 200 kills.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import type { AdaptOptions } from "../../src/training/options/adapt-options.ts";
import { readMetrics } from "../../src/training/report/metrics-log.ts";
import { compileScript } from "../retrieval/index/write/compile-script.ts";
import { sameBytes } from "../retrieval/support.ts";
import { writeAdaptationFiles } from "../support/adaptation.ts";
import { writeSmallRun } from "../support/training.ts";
import { campaignFolder, runCampaign, type Tries } from "./campaign.ts";
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

/** A run is killed at most so often; then it is left to its end. */
const KILLS_PER_RUN = 10;

await runCampaign({
  script: import.meta.url,
  unit: "kills",
  standardCount: 8,
  hungAfter: 120,
  maxBytes: 1.5e9,
  open: ({ seed }) => kills(seed),
});

async function kills(seed: number): Promise<Tries> {
  const folder = campaignFolder("training-kills");
  const script = await compileScript(
    "test/campaigns/training-process.ts",
    join(folder, "compiled"),
  );
  const runs = await makeRuns(folder);
  const wholes = new Map<string, Whole>();
  for (const [name, run] of Object.entries(runs)) {
    const start = performance.now();
    await runFor(Infinity, script, run, join(folder, name));
    const milliseconds = performance.now() - start;
    wholes.set(name, { milliseconds, files: await comparedFiles(join(folder, name)) });
  }
  const counts = { "before the first checkpoint": 0, "runs to the end": 0 };
  let begun = 0;
  let current = nextRun();
  return {
    async attempt(number) {
      const random = createRandom(seed, "training kills", number);
      for (;;) {
        const time = 1.2 * wholes.get(current.name)!.milliseconds * random.next();
        const isWhole = current.kills >= KILLS_PER_RUN;
        if (!(await runFor(isWhole ? Infinity : time, script, runs[current.name]!, current.out)))
          break;
        await endRun();
      }
      current.kills++;
      if (!existsSync(join(current.out, "checkpoint", "checkpoint.json")))
        counts["before the first checkpoint"]++;
    },
    async close() {
      await runFor(Infinity, script, runs[current.name]!, current.out);
      await endRun();
      return counts;
    },
  };

  function nextRun() {
    const names = Object.keys(runs);
    const name = names[begun % names.length]!;
    return { name, out: join(folder, `${begun++}`), kills: 0 };
  }

  /** Compares a run that has ended with the one that was not killed. */
  async function endRun(): Promise<void> {
    const { name, out } = current;
    current = nextRun();
    counts["runs to the end"]++;
    const whole = wholes.get(name)!;
    const files = await comparedFiles(out);
    for (const path of new Set([...files.keys(), ...whole.files.keys()]))
      if (JSON.stringify(files.get(path)) !== JSON.stringify(whole.files.get(path)))
        throw new Error(`${name}: other contents of ${path}`);
    if (existsSync(join(folder, name, "index")))
      await sameBytes(join(out, "index"), join(folder, name, "index"));
    rmSync(out, { recursive: true });
  }
}

/** Runs that write checkpoints between iterations, at measurements and at the end. */
async function makeRuns(folder: string): Promise<Record<string, TrainedRun>> {
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
