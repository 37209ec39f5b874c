/** Training of retrieval together with phrase queries, stopped and resumed. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config-file.ts";
import { ReAtt } from "../../../src/reatt.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { runFolder } from "../../../src/training/run/run-folder.ts";
import { train } from "../../../src/training/train.ts";
import { refused } from "../../checkpoints/support.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { dev: _, ...small } = await writeSmallRun(folder.path);
const passages = "London Paris Berlin Rome Boston Dallas Chicago Toronto Houston Atlanta"
  .split(" ")
  .map((title, i) => ({
    id: `${i}`,
    title,
    text: `${title} has the number ${i + 10} since 1900.`,
  }));
const corpus = writeLines(join(folder.path, "towns.jsonl"), passages);
const options: TrainOptions = {
  ...small,
  holdOut: false,
  corpus,
  objective: "retrieval",
  phraseLoss: 1,
  steps: 6,
  preBatch: 1,
};
const weights = (out: string): Buffer => readFileSync(join(out, "model.safetensors"));
const metrics = (out: string) =>
  readFileSync(join(runFolder(out), "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line): Readonly<Record<string, number>> => JSON.parse(line))
    .filter(({ loss }) => loss !== undefined);

test("a run trains phrase queries and the keys that they find", async () => {
  const out = join(folder.path, "whole");
  await finish(train({ ...options, out }));
  assert.is((await readConfig(out)).phraseQueries, true);
  const losses = metrics(out).map(({ phrases }) => phrases!);
  assert.is(losses.length, 12);
  assert.ok(losses.at(-1)! < losses[0]!, `${losses}`);
  await using model = await ReAtt.load(out);
  await using index = await model.index(passages, { directory: join(folder.path, "index") });
  const [best] = await model.phrases("What is the number of Rome?", index);
  const { text } = passages.find(({ id }) => id === best!.id)!;
  assert.is(text.slice(best!.span.start, best!.span.end), best!.answer);
});

test("phrase queries learn beside reading, after steps that only read", async () => {
  const out = join(folder.path, "taught");
  const objective = "distillation";
  await finish(train({ ...options, objective, out, qaSteps: 1 }));
  assert.is((await readConfig(out)).phraseQueries, true);
  const losses = metrics(out).map(({ phrases }) => phrases);
  assert.is(losses[0], undefined); // a step on qa
  assert.ok(losses.slice(1).some((loss) => loss! > 0));
});

test("a resumed run has the same bits", async () => {
  const stopped = { ...options, out: join(folder.path, "stopped"), resume: true };
  const stop = new AbortController();
  await finish(train({ ...stopped, signal: stop.signal }), ({ type }) => {
    if (type === "step") stop.abort();
  });
  await refused(finish(train({ ...stopped, phraseLoss: 2 })), /phraseLoss: expected 1, as the run/);
  await finish(train(stopped));
  assert.ok(weights(stopped.out).equals(weights(join(folder.path, "whole"))));
});

test("a model without token keys, and options that keep keys, are refused", async () => {
  const run = (given: Partial<TrainOptions>) =>
    finish(train({ ...options, preBatch: 0, ...given, out: join(folder.path, "never") }));
  await refused(
    run({ objective: "qa" }),
    /^phraseLoss: expected the objective distillation, supervised, likelihood or retrieval, got the obj/,
  );
  for (const other of [{ train: "query" }, { pooling: "mean" }] as const)
    await refused(run(other), /^phraseLoss: expected keys of one head, and training of what/);
});

test.run();
