/** When candidates are found again: never, between iterations, or in the background. */

import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { hitLists } from "../../../src/reatt/retrieving.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { readTrainingFile } from "../../../src/training/examples/training-questions.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { type MetricsRecord, readMetrics } from "../../../src/training/report/metrics-log.ts";
import type { TrainingResult } from "../../../src/training/run/events.ts";
import { runFolder } from "../../../src/training/run/run-folder.ts";
import { type TrainingEvent, train } from "../../../src/training/train.ts";
import { refused } from "../../checkpoints/support.ts";
import { moduleArguments } from "../../support/node-program.ts";
import { argumentsOf, temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { dev: _, ...given } = await writeSmallRun(folder.path);
// Four questions, so that an iteration reads all eight.
const small: typeof given = { ...given, holdOut: false, questions: 4 };
const at = (name: string): string => join(folder.path, name);

/** Runs to the end, or until `onEvent` says true; it may take its time. */
async function follow(
  options: TrainOptions,
  onEvent: (event: TrainingEvent) => Promise<boolean>,
): Promise<TrainingResult | undefined> {
  const run = train(options);
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
    if (await onEvent(value)) await run.return(undefined as never);
  }
}

const candidatesOf = (out: string, name: number): string[][] =>
  readFileSync(join(runFolder(out), `candidates-questions-${name}.jsonl`), "utf8")
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line));

const steps = async (out: string): Promise<MetricsRecord[]> =>
  (await readMetrics(join(runFolder(out), "metrics.jsonl"))).filter((record) => "nll" in record);

const staleness = async (out: string) => (await steps(out)).map((record) => record.staleness);

/** The passages that the model finds with an index of its own; the question's own is added. */
async function foundBy(model: string, count: number): Promise<string[][]> {
  await using reatt = await ReAtt.load(model);
  await using index = await reatt.index(readPassages(small.corpus), {
    directory: join(model, "..", "again"),
  });
  const questions = await readTrainingFile(small.data);
  const hits = await hitLists(
    reatt.retrieve(
      questions.map(({ question }) => question),
      index,
      { topK: count },
    ),
  );
  return questions.map(({ passageId }, i) => {
    const ids = hits[i]!.map(({ id }) => id);
    return ids.includes(passageId!) ? ids : [...ids.slice(0, -1), passageId!];
  });
}

test("none: candidates stay as they are, and no model is indexed", async () => {
  const out = at("none");
  await follow({ ...small, out, refresh: "none" }, async () => false);
  assert.equal(candidatesOf(out, 1), candidatesOf(out, 0));
  assert.not.ok(existsSync(join(runFolder(out), "checkpoint", "index")));
  assert.equal(await staleness(out), [undefined, undefined, undefined, undefined]);
});

test("iterations: those of the second are of the model after the first", async () => {
  const out = at("iterations");
  await follow({ ...small, out }, async () => false);
  assert.equal(candidatesOf(out, 1), await foundBy(join(runFolder(out), "checkpoint", "model"), 3));
  assert.not.equal(candidatesOf(out, 1), candidatesOf(out, 0));
  assert.equal(await staleness(out), [undefined, undefined, 0, 1]);
});

/** The first snapshot is after step 30. */
const background: typeof given = { ...small, steps: 30, refresh: "background", refreshSteps: 30 };
const SNAPSHOT = 30;

/** Waits after the snapshot for its candidates, and stops the run `after` steps after the swap. */
function waitForSwap(out: string, after = Infinity): (event: TrainingEvent) => Promise<boolean> {
  let swapped = Infinity;
  return async (event) => {
    if (event.type === "refresh") swapped = event.step;
    if (event.type !== "step") return false;
    if (event.step > SNAPSHOT && swapped === Infinity) await sleep(100);
    while (event.step === SNAPSHOT + 1 && processesOf(out).length > 0) await sleep(100);
    return event.step === swapped + after;
  };
}

const swapsOf = (out: string) =>
  JSON.parse(readFileSync(join(runFolder(out), "checkpoint", "refreshes.json"), "utf8")) as {
    step: number;
    snapshot: number;
  }[];

test("background: what the snapshot's model finds is read once it is there; a run that was left then reads it again", async () => {
  const out = at("background");
  await follow({ ...background, out }, waitForSwap(out, 3));
  assert.equal(processesOf(out), []);
  const swaps = swapsOf(out);
  assert.equal(
    swaps.map(({ snapshot }) => snapshot),
    [SNAPSHOT],
  );
  const { step: swapped } = swaps[0]!;
  assert.ok(swapped > SNAPSHOT && swapped < 60, `${swapped}`);
  assert.equal(
    candidatesOf(out, SNAPSHOT),
    await foundBy(join(runFolder(out), "checkpoint", "refresh", "model"), 3),
  );
  const before = await steps(out);
  assert.is(before.at(-1)!.step, swapped + 3);
  const checkpoint = JSON.parse(
    readFileSync(join(runFolder(out), "checkpoint", "checkpoint.json"), "utf8"),
  );
  assert.is(checkpoint.step, SNAPSHOT); // so that the steps from there to the swap are done again

  const result = await follow({ ...background, out, resume: true }, async () => false);
  assert.is(result!.step, 60);
  assert.equal(swapsOf(out), swaps);
  const expected = Array.from({ length: 60 }, (_, step) =>
    step < swapped ? undefined : step - SNAPSHOT,
  );
  assert.equal(await staleness(out), expected);
  const numbers = (records: readonly MetricsRecord[]) =>
    records.map(({ step, loss, gradientNorm }) => [step, loss!, gradientNorm!]);
  assert.equal(numbers((await steps(out)).slice(0, before.length)), numbers(before));
});

test("interrupted while it searches in the background, a run saves and leaves no process", async () => {
  const out = at("interrupted");
  const stop = new AbortController();
  const result = await follow({ ...background, out, signal: stop.signal }, async (event) => {
    if (event.type === "step" && event.step === SNAPSHOT + 1) {
      assert.is(processesOf(out).length, 1);
      stop.abort();
    }
    return false;
  });
  assert.equal([result!.finished, result!.step], [false, SNAPSHOT + 1]);
  assert.equal(processesOf(out), []);
});

test("killed while it searches in the background, a run leaves no process for long", async () => {
  const out = at("killed");
  const { model, corpus, data } = small;
  const options = {
    ...{ model, corpus, data, out, steps: 100_000, questions: 2, candidatesPerQuestion: 2 },
    ...{ refresh: "background", refreshSteps: 1 },
  };
  const run = spawn(
    process.execPath,
    [...moduleArguments("src/cli/main.ts"), ...["train", "--json", ...argumentsOf(options)]],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let children: number[] = [];
  for await (const line of createInterface(run.stdout)) {
    const event: TrainingEvent = JSON.parse(line);
    if (event.type !== "step" || event.step < 2) continue;
    children = processesOf(out).filter((id) => id !== run.pid);
    run.kill("SIGKILL");
  }
  assert.is(children.length, 1);
  while (processesOf(out).length > 0) await sleep(100); // as long as one of its computations takes
});

test("where the search in the background fails, the run says so in one line", async () => {
  const out = at("failed");
  const run = follow({ ...background, out }, async (event) => {
    if (event.type !== "step" || event.step <= SNAPSHOT) return false;
    for (const id of processesOf(out)) process.kill(id, "SIGKILL");
    await sleep(100);
    return false;
  });
  await refused(
    run,
    /candidates in the background: expected .*, got the process ended; resume the run/,
  );
  assert.equal(processesOf(out), []);
});

/** Ids of the other processes that were told of a folder; there is /proc on Linux alone. */
function processesOf(out: string): number[] {
  const ids = existsSync("/proc") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
  const told = ids.filter((id) => {
    try {
      return readFileSync(join("/proc", id, "cmdline"), "utf8").includes(
        join(runFolder(out), "checkpoint", "refresh"),
      );
    } catch {
      return false; // gone by now
    }
  });
  return told.map(Number);
}

test.run();
