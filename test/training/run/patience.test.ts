/** A run that ends when its best model is old: measured on dev, and resumed. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLexicalModel, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const model = join(folder.path, "lexical");
await writeLexicalModel(model);
/** Training that only loses. */
const losing = {
  ...{ ...small, model, iterations: 1, steps: 40, objective: "retrieval" as const },
  ...{ learningRate: 3, dev: small.data, monitorSteps: 3 },
};

test("two measurements after the best model, the run is finished and keeps that one", async () => {
  const measured: number[] = [];
  const out = join(folder.path, "out");
  const { step, finished, failure, outcome } = await finish(
    train({ ...losing, out, patience: 2 }),
    (event) => {
      if (event.type === "evaluation") measured.push(event.step);
    },
  );
  assert.equal([finished, failure], [true, undefined]);
  const best = outcome!.step;
  assert.is(step, best + 6);
  assert.equal(
    measured,
    Array.from({ length: step / 3 + 1 }, (_, i) => 3 * i),
  );
  const again = await finish(train({ ...losing, out, patience: 2, resume: true }));
  assert.equal([again.step, again.finished, again.outcome!.step], [step, true, best]);
});

test("without measurements there is nothing to wait for", async () => {
  const { dev: _, monitorSteps: __, ...without } = losing;
  const run = train({ ...without, holdOut: false, out: join(folder.path, "none"), patience: 2 });
  const error = await finish(run).catch((reason: unknown) => reason);
  assert.match(
    String(error),
    /patience: expected dev, or questions that are held out, which are measured, got none/,
  );
});

test.run();
