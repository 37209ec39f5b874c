/** Training from random weights, in one go and in parts. */

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { readMetrics } from "../../../src/training/report/metrics-log.ts";
import type { TrainingResult } from "../../../src/training/run/events.ts";
import { runFolder } from "../../../src/training/run/run-folder.ts";
import { type TrainingEvent, train } from "../../../src/training/train.ts";
import { finish, trainInParts } from "../../support/adaptation.ts";
import { moduleArguments } from "../../support/node-program.ts";
import {
  argumentsOf,
  temporaryFolder,
  writeSmallRun,
  writeTinyModel,
} from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const model = join(folder.path, "new");
mkdirSync(model);
await writeTinyModel(model, { weights: false });
const scratch: TrainOptions = { ...small, model, iterations: 1, steps: 6 };
const at = (name: string): string => join(folder.path, name);

/** What must not depend on whether the run was interrupted. */
async function outcome(out: string) {
  const records = await readMetrics(join(runFolder(out), "metrics.jsonl"));
  return {
    state: readFileSync(join(runFolder(out), "checkpoint", "state-000006.safetensors")),
    metrics: records.map((record) => ({ ...record, seconds: 0, questionsPerSecond: 0 })),
  };
}

const whole = { ...scratch, out: at("whole") };
const events: TrainingEvent[] = [];
const result: TrainingResult = await finish(train(whole), (event) => events.push(event));
const expected = await outcome(whole.out);

test("it is measured against the random weights", () => {
  assert.is(result.step, 6);
  assert.equal(
    expected.metrics.filter((record) => "exactMatch" in record).map(({ step }) => step),
    [0, 6],
  );
  assert.ok(result.outcome);
  assert.ok(events.every((event) => event.type !== "step" || event.steps === 6));
});

test("stopped, the run ends as if it had not been", async () => {
  const resumed = { ...scratch, out: at("stopped"), resume: true };
  await trainInParts(resumed, [2, 5]);
  assert.equal((await finish(train(resumed))).outcome, result.outcome);
  assert.equal(await outcome(resumed.out), expected);
});

test("killed, the run ends as if it had not been", async () => {
  const resumed = { ...scratch, out: at("killed"), resume: true };
  const stop = new AbortController();
  await finish(train({ ...resumed, signal: stop.signal }), (event) => {
    if (event.type === "step" && event.step === 1) stop.abort(); // leaves a checkpoint
  });
  assert.is(await killAtStep(3, resumed), "SIGKILL");
  await finish(train(resumed));
  assert.equal(await outcome(resumed.out), expected);
});

/** Kills `reatt train` once it said that it took a step, and returns what ended it. */
function killAtStep(
  step: number,
  { signal: _, resume: __, ...options }: TrainOptions,
): Promise<unknown> {
  const child = spawn(
    process.execPath,
    [...moduleArguments("src/cli/main.ts"), "train", "--json", "--resume", ...argumentsOf(options)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  createInterface(child.stdout).on("line", (line) => {
    const event = JSON.parse(line);
    if (event.type === "step" && event.step === step) child.kill("SIGKILL");
  });
  return new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
}

test.run();
