/** The last stage of a run that trains what reads: held-out questions, and how it is stopped. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config-file.ts";
import { storeInConfig } from "../../../src/model/store-config.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { calibrationOf } from "../../support/calibration.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { makeTinyModel, temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
await storeInConfig(
  small.model,
  { calibration: calibrationOf(-1, { likelihood: 1 }) },
  small.model,
);
const options = { ...small, iterations: 1, steps: 2, learningRate: 1e-3, dropout: 0 };
const outOf = (name: string): string => join(folder.path, name);
const ASKING = /^asking held-out questions/;

/** Ends the run when it begins to ask. */
async function stopped(given: TrainOptions) {
  const stop = new AbortController();
  return finish(train({ ...given, signal: stop.signal }), (event) => {
    if (event.type === "stage" && ASKING.test(event.name)) stop.abort();
  });
}

test("held-out questions are asked; of few, the old calibration stays, and the run says so", async () => {
  const out = outOf("few");
  const stages: string[] = [];
  const { written, outcome } = await finish(train({ ...options, out }), (event) => {
    if (event.type === "stage") stages.push(event.name);
  });
  assert.is(outcome!.kept, "trained");
  assert.ok(stages.some((name) => ASKING.test(name)));
  assert.match(
    written!.notes.join(),
    /^confidence and abstention are by .* of the given model: \d+ /,
  );
  assert.equal((await readConfig(out)).calibration, (await readConfig(small.model)).calibration);
});

test("a run that trains nothing of what reads asks nothing", async () => {
  const [model, out] = [outOf("joint"), outOf("retrieval")];
  const calibration = calibrationOf(-1, { likelihood: 1 });
  await makeTinyModel(model, { ...TINY_MODELS["joint layers"]!, calibration });
  const { written } = await finish(
    train({ ...options, model, out, objective: "retrieval", maxPassageTokens: 40 }),
    (event) => assert.not.match(event.type === "stage" ? event.name : "", ASKING),
  );
  assert.not.match(written!.notes.join(), /confidence/);
});

test("a run that is stopped while it asks has its model, and goes on with asking", async () => {
  const out = outOf("stopped");
  const first = await stopped({ ...options, out });
  assert.is(first.finished, false);
  assert.is(first.saved, first.outcome!.step);
  const second = await finish(train({ ...options, out, resume: true }));
  assert.ok(second.finished);
  for (const name of ["config.json", "model.safetensors"])
    assert.equal(readFileSync(join(out, name)), readFileSync(join(outOf("few"), name)), name);
});

test.run();
