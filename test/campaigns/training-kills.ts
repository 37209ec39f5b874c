/**
 * Kills of training and adaptation at random moments (SIGKILL).
 *
 *     npx tsx test/campaigns/training-kills.ts --count 200 --seed 1
 *
 * A killed run is resumed. It must end with the bytes of a run that was not killed: model,
 * configuration, checkpoint, candidates, log and index.
 *
 * Four of five kills are simulated, as in writer-kills.ts. One of five kills a process, again and
 * again until its run ends. The first campaign killed 200 processes.
 */

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { adapt } from "../../src/training/adapt.ts";
import type { AdaptOptions } from "../../src/training/options/adapt-options.ts";
import { readMetrics } from "../../src/training/report/metrics-log.ts";
import { runFolder } from "../../src/training/run/run-folder.ts";
import { train } from "../../src/training/train.ts";
import { compileScript } from "../retrieval/index/write/compile-script.ts";
import { sameBytes } from "../retrieval/support.ts";
import { writeAdaptationFiles } from "../support/adaptation.ts";
import { writeSmallRun } from "../support/training.ts";
import { campaignFolder, runCampaign, type Tries } from "./campaign.ts";
import { filesBelow } from "./files-below.ts";
import type { History } from "./histories.ts";
import { interruptions } from "./interruptions.ts";
import { runFor } from "./killed-run.ts";
import type { TrainedRun } from "./training-process.ts";

const REAL_EVERY = 5;
/** A process is killed at most so often; then it is left to its end. */
const KILLS_PER_RUN = 5;
const FIRST_GUESS_MS = 4_000;

/** Files with times or the name of the folder; indexes, of which `sameBytes` compares the last. */
const TIMED = /(^|\/)index\/|README\.md$|report\.html$|metrics\.csv$|(samples|adaptation)\.json$/;

await runCampaign({
  script: import.meta.url,
  unit: "kills",
  standardCount: 20,
  hungAfter: 600,
  maxBytes: 1.5e9,
  open: ({ seed }) => kills(seed),
});

async function kills(seed: number): Promise<Tries> {
  const folder = campaignFolder("training-kills");
  const runs = Object.entries(await makeRuns(folder));
  const wholes = new Map<string, string>(runs.map(([name]) => [name, join(folder, name)]));
  const simulated = interruptions(
    () => runs.map(([name, run]) => trainingHistory(name, run, wholes.get(name)!)),
    ["killed"],
    { seed, resumeEvery: Infinity },
  );
  const processes = await killedProcesses(folder, runs, wholes);
  return {
    attempt: (number) =>
      number % REAL_EVERY === REAL_EVERY - 1
        ? processes.kill(createRandom(seed, "training kills", number).next())
        : simulated.attempt(number),
    async close() {
      await processes.close();
      return { ...simulated.counts, ...processes.counts };
    },
  };
}

/**
 * A run whose folders are copied to `whole` and beside it. What a kill leaves is resumed and
 * compared.
 */
function trainingHistory(name: string, run: TrainedRun, whole: string): History {
  const outOf = (root: string) => join(root, "runs", "out");
  return {
    name,
    async run(root, done) {
      await runHere(run, outOf(root));
      done();
      cpSync(outOf(root), whole, { recursive: true });
      cpSync(runFolder(outOf(root)), runFolder(whole), { recursive: true });
    },
    async check(root, done) {
      await runHere(run, outOf(root));
      await compareRuns(outOf(root), whole);
      return done;
    },
  };
}

/** Starts or resumes a run in this process. */
async function runHere({ kind, options }: TrainedRun, out: string): Promise<void> {
  const given = { ...options, out, resume: true };
  const events =
    kind === "train"
      ? train(given as Parameters<typeof train>[0])
      : adapt(given as Parameters<typeof adapt>[0]);
  for await (const _ of events);
}

/** Processes that are killed and resumed until their runs end. */
async function killedProcesses(
  folder: string,
  runs: readonly (readonly [string, TrainedRun])[],
  wholes: ReadonlyMap<string, string>,
) {
  const script = await compileScript(
    "test/campaigns/training-process.ts",
    join(folder, "compiled"),
  );
  const counts = { processes: 0, "before the first checkpoint": 0, "processes to the end": 0 };
  /** How long the last run took from its last start to its end. */
  let milliseconds = FIRST_GUESS_MS;
  let begun = 0;
  let current = nextRun();
  return {
    counts,
    /** @param moment from 0 to 1, of the time of a run that is not killed */
    async kill(moment: number) {
      while (await live(moment));
      counts.processes++;
      current.kills++;
      if (!existsSync(join(runFolder(current.out), "checkpoint", "checkpoint.json")))
        counts["before the first checkpoint"]++;
    },
    close: async () => void (current.kills > 0 && (await live(Infinity))),
  };

  function nextRun() {
    const [name, run] = runs[begun % runs.length]!;
    return { name, run, out: join(folder, `${begun++}`), kills: 0 };
  }

  /** Starts or resumes the run. @returns true if it ended before it was killed */
  async function live(moment: number): Promise<boolean> {
    const { name, run, out, kills } = current;
    const start = performance.now();
    const time = kills < KILLS_PER_RUN ? 1.5 * moment * milliseconds : Infinity;
    if (!(await runFor(time, script, run, out))) return false;
    milliseconds = performance.now() - start;
    current = nextRun();
    counts["processes to the end"]++;
    await compareRuns(out, wholes.get(name)!);
    for (const made of [out, runFolder(out)]) rmSync(made, { recursive: true });
    return true;
  }
}

/** The beginning of a file, as an error shows it. */
function shown(folder: string, path: string): string {
  const file = join(folder, path);
  return existsSync(file)
    ? JSON.stringify(readFileSync(file, "latin1").slice(0, 2_000))
    : "nothing";
}

async function compareRuns(out: string, whole: string): Promise<void> {
  await compareFolders(out, whole);
  await compareFolders(runFolder(out), runFolder(whole));
}

async function compareFolders(out: string, whole: string): Promise<void> {
  const [files, expected] = [await comparedFiles(out), await comparedFiles(whole)];
  for (const path of new Set([...files.keys(), ...expected.keys()]))
    if (JSON.stringify(files.get(path)) !== JSON.stringify(expected.get(path)))
      throw new Error(`other contents of ${path}: ${shown(out, path)}, not ${shown(whole, path)}`);
  if (existsSync(join(whole, "index"))) await sameBytes(join(out, "index"), join(whole, "index"));
}

/** Runs that write checkpoints between iterations, at measurements and at the end. */
async function makeRuns(folder: string): Promise<Record<string, TrainedRun>> {
  const files = join(folder, "files");
  mkdirSync(files);
  const small = { ...(await writeSmallRun(files)), iterations: 2, steps: 2 };
  const { model } = small;
  const adaptation: AdaptOptions = {
    ...{ ...writeAdaptationFiles(folder), model, out: "", monitorSteps: 2 },
    ...{ iterations: 2, steps: 4, questions: 2, candidatesPerQuestion: 2, sources: ["spans"] },
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
      files.set(name, { ...JSON.parse(readFileSync(path, "utf8")), seconds: 0, checksum: 0 });
    else if (name === "training.json") files.set(name, withWholePaths(path, out));
    else if (name === "metrics.jsonl") files.set(name, (await readMetrics(path)).map(withoutTimes));
    else files.set(name, createHash("sha256").update(readFileSync(path)).digest("hex"));
  }
  return files;
}

/** A run says where its files are as seen from its folder. */
function withWholePaths(path: string, out: string): object {
  const { options, ...record } = JSON.parse(readFileSync(path, "utf8"));
  const paths = ["model", "corpus", "data", "dev"].map((name) => [
    name,
    resolve(out, options[name]),
  ]);
  return { ...record, options: { ...options, ...Object.fromEntries(paths) } };
}

function withoutTimes(record: object): object {
  return { ...record, seconds: 0, questionsPerSecond: 0 };
}
