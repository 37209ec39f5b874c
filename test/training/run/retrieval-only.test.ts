/** Runs of the objective `retrieval` with pre-batch negatives: stopped and resumed, and adapted. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config-file.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { adapt } from "../../../src/training/adapt.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { capitals, finish, trainInParts, writeAdaptationFiles } from "../../support/adaptation.ts";
import {
  temporaryFolder,
  writeLines,
  writeSmallRun,
  writeTinyModel,
} from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());

/** The new names and values of the weights that a run changed. */
async function changedWeights(before: string, after: string): Promise<string[]> {
  const [old, now] = await Promise.all(
    [before, after].map(async (model) => loadWeights(model, await readConfig(model))),
  );
  return [...old!].flatMap(([name, values]) =>
    Buffer.from(values.buffer).equals(Buffer.from(now!.get(name)!.buffer)) ? [] : name,
  );
}

test("a run that is stopped after any step ends with the bits of one that is not", async () => {
  const { dev: _, ...small } = await writeSmallRun(folder.path);
  const questions = readFileSync(small.data, "utf8").trim().split("\n");
  // Labels, and scores without labels.
  const data = writeLines(
    join(folder.path, "scored.jsonl"),
    questions.map((line, i) => {
      const { passage_id, ...question } = JSON.parse(line);
      const ctxs = [1, 2, 3, 4].map((n) => ({ id: `${(i + n) % 10}`, score: -n }));
      return i % 2 ? { ...question, ctxs } : { ...question, passage_id };
    }),
  );
  const options: TrainOptions & { readonly model: string } = {
    ...small,
    holdOut: false,
    ...{ data, objective: "retrieval", preBatch: 2, steps: 3, dropout: 0.1 },
  };
  const whole = await finish(train({ ...options, out: join(folder.path, "whole") }));
  assert.ok(whole.finished);
  await trainInParts({ ...options, out: join(folder.path, "stopped") }, [2, 4, 6]);
  const bytes = (out: string, file: string): Buffer => readFileSync(join(folder.path, out, file));
  const state = join("checkpoint", "state-000006.safetensors");
  assert.ok(bytes("stopped", "model.safetensors").equals(bytes("whole", "model.safetensors")));
  assert.ok(bytes("stopped.run", state).equals(bytes("whole.run", state)));

  const changed = await changedWeights(small.model, join(folder.path, "whole"));
  assert.ok(changed.includes("shared.0.layer.0.layer.0.SelfAttention.q.weight"));
  assert.not.ok(changed.some((name) => name.startsWith("decoder.")));
  assert.not.ok(changed.some((name) => name.startsWith("joint.0.layer.0.layer.1")));
});

test("adapt learns retrieval alone from masked sentences, questions and labels", async () => {
  const model = join(folder.path, "adapted-model");
  mkdirSync(model);
  await writeTinyModel(model);
  const adapted = await finish(
    adapt({
      ...{ ...writeAdaptationFiles(folder.path), model, out: join(folder.path, "adapted") },
      ...{ sources: ["spans"], tagger: capitals, objective: "retrieval", preBatch: 1 },
      ...{ steps: 4, questions: 4, candidatesPerQuestion: 2, monitorSteps: 4, learningRate: 1e-3 },
    }),
  );
  assert.is(adapted.training!.step, 4);
  const records = readFileSync(join(folder.path, "adapted.run", "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ loss }) => loss !== undefined);
  assert.is(records.length, 4);
  assert.ok(records.every(({ loss, nll }) => loss > 0 && nll === undefined));
});

test.run();
