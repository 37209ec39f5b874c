/** A run with head selection. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig, writeConfig } from "../../../src/model/config.ts";
import type { TrainingEvent } from "../../../src/training/run/events.ts";
import { train } from "../../../src/training/train.ts";
import { refused } from "../../checkpoints/support.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeSmallRun, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { dev: _, ...small } = await writeSmallRun(folder.path);
const options = { ...small, iterations: 1, steps: 1, selectHead: true };

test("the best of all heads is trained, also where the run is resumed", async () => {
  const events: TrainingEvent[] = [];
  await finish(train(options), (event) => events.push(event));
  const event = events.find((event) => event.type === "heads")!;
  const { heads } = await readConfig(options.model);
  assert.equal(event.heads.map(({ head }) => head).sort(), [...Array(heads).keys()]);
  const best = event.heads[0]!;
  assert.ok(event.heads.every(({ correlation }) => correlation <= best.correlation));
  const trained = await readConfig(options.out);
  assert.is(trained.retrievalHead, best.head);

  const again: TrainingEvent[] = [];
  await finish(train({ ...options, resume: true }), (event) => again.push(event));
  assert.not.ok(again.some(({ type }) => type === "heads"));
  const other = (best.head + 1) % heads;
  await writeConfig(options.model, { ...(await readConfig(options.model)), retrievalHead: other });
  await refused(
    finish(train({ ...options, selectHead: false, resume: true })),
    new RegExp(`retrievalHead: expected ${best.head}, as the run began with, got ${other}`),
  );
});

test("head selection needs one fixed head and a model with weights", async () => {
  await refused(finish(train({ ...options, tau: 0.1 })), /expected one head.*got tau 0.1/);
  const model = join(folder.path, "new");
  mkdirSync(model);
  await writeTinyModel(model, { weights: false });
  await refused(finish(train({ ...options, model })), /expected a model with weights/);
});

test.run();
