/** A run with head selection. */

import { mkdirSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig, writeConfig } from "../../../src/model/config.ts";
import { adapt } from "../../../src/training/adapt.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { findRun } from "../../../src/training/run/checkpoint.ts";
import type { TrainingEvent } from "../../../src/training/run/events.ts";
import { train } from "../../../src/training/train.ts";
import { refused } from "../../checkpoints/support.ts";
import { capitals, finish, writeAdaptationFiles } from "../../support/adaptation.ts";
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

/** The model of the small run without `retrieval_head` in its `config.json`. */
async function modelWithoutHead(name: string): Promise<string> {
  const model = join(folder.path, name);
  await cp(options.model, model, { recursive: true });
  const file = join(model, "config.json");
  const { retrieval_head: _, ...rest } = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify(rest));
  return model;
}

test("a model whose config.json names no head gets a selected one", async () => {
  const model = await modelWithoutHead("unnamed");
  const heads = async (changes: Partial<TrainOptions>): Promise<number | undefined> => {
    const found: number[] = [];
    await finish(train({ ...options, model, selectHead: false, ...changes }), (event) => {
      if (event.type === "heads") found.push(event.heads[0]!.head);
    });
    return found[0];
  };
  const out = join(folder.path, "selected");
  const selected = await heads({ out });
  assert.type(selected, "number");
  assert.is((await readConfig(out)).retrievalHead, selected);
  assert.is(await heads({ out, resume: true }), undefined, "the run has its head");
  assert.is(await heads({ out: join(folder.path, "mixed"), tau: "model" }), undefined);
  const queries = { out: join(folder.path, "queries"), querySide: "projection" } as const;
  assert.is(await heads(queries), undefined, "an index remains valid");
});

test("an adaptation selects a head with masked sentences", async () => {
  const model = await modelWithoutHead("unnamed-adapted");
  const out = join(folder.path, "adapted");
  const files = join(folder.path, "adaptation");
  mkdirSync(files);
  const { corpus } = writeAdaptationFiles(files);
  const heads: number[] = [];
  const run = adapt({ model, corpus, out, steps: 1, questions: 2, tagger: capitals });
  await finish(run, (event) => {
    if (event.type === "heads") heads.push(event.heads[0]!.head);
  });
  assert.is(heads.length, 1);
  assert.is((await readConfig(out)).retrievalHead, heads[0]);
});

test("tau `model` is distillation_tau of config.json", async () => {
  const model = await modelWithoutHead("tempered");
  await writeConfig(model, { ...(await readConfig(model)), distillationTau: 0.25 });
  const out = join(folder.path, "tempered-out");
  await finish(train({ ...options, selectHead: false, model, out, tau: "model" }));
  assert.is((await findRun(out, true))!.plan.tau, 0.25);
});

test("head selection needs one fixed head and a model with weights", async () => {
  await refused(finish(train({ ...options, tau: 0.1 })), /expected one fixed head.*got tau 0.1/);
  const model = join(folder.path, "new");
  mkdirSync(model);
  await writeTinyModel(model, { weights: false });
  await refused(finish(train({ ...options, model })), /expected a model with weights/);
});

test.run();
