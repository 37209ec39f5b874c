/** What a run with a time limit measures, by how fast a model encodes. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import { withDefaults } from "../../../src/training/options/train-options.ts";
import type { Estimate, RunWork } from "../../../src/training/plan/plan.ts";
import { fitToMachine } from "../../../src/training/plan/timed-pace.ts";
import { readStartingModel } from "../../../src/training/run/parameters.ts";
import { resolveRun } from "../../../src/training/run/run.ts";
import { finish } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const corpus = await openCorpus(small.corpus);
test.after(async () => corpus[Symbol.asyncDispose]());
const start = await readStartingModel(small.model);

const work: RunWork = {
  ...{ passages: 10, writesIndex: true, asked: 0, samples: [] },
  measured: { what: "held-out examples", questions: 600, passages: 1_000, answered: 6 },
};
const estimate: Estimate = {
  sample: { indexed: 20, trained: 10, characters: 50, unknown: 0 },
  pace: { step: 1e-3, passage: 1e-6 },
  ...{ calibration: 0, timed: undefined },
};
const fitted = (minutes: number | undefined, passages = 10) => {
  const run = resolveRun(withDefaults({ ...small, iterations: 1, minutes }), start, corpus);
  return finish(fitToMachine({ run, work: { ...work, passages }, estimate }, corpus));
};

test("with little time, 100 passages are measured, and the pace is that of the model", async () => {
  const { run, work, estimate } = await fitted(1e-6);
  assert.equal([run.measurements.passages, work.measured!.passages], [100, 100]);
  assert.ok(estimate.pace.passage > 1e-6, "a tiny model takes more than a microsecond");
  assertNear([estimate.pace.step / estimate.pace.passage], [1e-3 / 1e-6], 1e-9);
  assert.not(existsSync(join(run.folder, "checkpoint", "timed")));
});

test("an index that takes more than half of the time is left out, unless it is short", async () => {
  assert.is((await fitted(1e-6)).work.writesIndex, true);
  assert.is((await fitted(1e-6, 1e12)).work.writesIndex, false);
});

test("with much time, or no limit, all is as it was planned", async () => {
  for (const minutes of [1e6, undefined]) {
    const { run, work } = await fitted(minutes);
    assert.equal([run.measurements.passages, work.measured!.passages], [undefined, 1_000]);
    assert.ok(work.writesIndex);
  }
});

test.run();
